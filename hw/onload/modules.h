// Loads and removes kernel modules. The home of libkmod.
//
// A module of a version is loaded by finit_module(2) from a checked descriptor (trusted_dir.h), with exactly the given
// parameters: libkmod would open a path again and apply modprobe.d. Removal is delete_module(2) with O_NONBLOCK, which
// fails at once while the module is in use.
//
// Dependencies on modules of the distribution (mtd, ptp, ...) are loaded by libkmod, with depmod's index and the
// options of modprobe.d. Install commands are never run, since they need a shell; they often block a module, so they
// count as a refusal.
//
// Calls block while the module initializes or exits. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "hw/onload/load_failure.h"
#include "hw/onload/module_file.h"

namespace nrd::onload {

using ParameterValues = std::map<std::string, std::string>;

// In the kernel's format: `cplane_server_params="-K -s" phys_mode_gid=0`. Refused: unknown parameters, and values with
// control characters, quotation marks, or 1024 bytes or more.
tl::expected<std::string, LoadFailure> parameter_line(const ModuleFile& module, const ParameterValues& parameters);

// `file`: the file that `module` was read from.
LoadResult insert_module(int file, const ModuleFile& module, const ParameterValues& parameters);
LoadResult remove_module(const std::string& name);

// Where modprobe looks. Empty: its defaults, that is the modules of the running kernel, and /etc/modprobe.d etc.
struct SystemModules {
  std::string modules{};
  std::vector<std::string> configuration{};
};
// Loads a module of the distribution with its dependencies, unless it is loaded.
LoadResult load_system_module(const std::string& name, const SystemModules& from = {});

}  // namespace nrd::onload
