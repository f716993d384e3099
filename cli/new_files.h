// New files side by side in one directory, all of them or none.
//
// No link is followed, and nothing that exists is overwritten unless the caller says so. What was made goes away again
// if a later file cannot be written; only a process that is killed midway leaves some of them behind, and then the next
// attempt names one. Where files may be replaced, all of them are first written whole beside the old ones.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace nrd::cli {

struct NewFile {
  std::string name;
  std::string content;
  mode_t mode = 0600;
};

enum class Existing { Refuse, Replace };

// Makes `directory` (mode 0700, not its parents) if it is absent; refuses one that others could write to. When this
// returns well, the files are on the disk. The message of an error is for whoever chose the directory.
Result<void> write_new_files(const std::string& directory, const std::vector<NewFile>& files,
                             Existing existing = Existing::Refuse);

}  // namespace nrd::cli
