// The files of /proc that tell a program what the machine can do and whether it was booted again.
#pragma once

#include <string>

#include "file_map.h"
#include "machine.h"

namespace nrd::simnode {

std::string new_boot_id();
std::string host_filesystems();
void add_procfs(const Machine& machine, const std::string& filesystems, const std::string& boot_id, FileMap& files);

}  // namespace nrd::simnode
