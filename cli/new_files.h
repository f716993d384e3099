// Creates several files in one directory, all or none.
//
// Symbolic links are not followed, and existing files are not overwritten unless requested. If one file cannot be
// written, the earlier ones are removed; only a killed process leaves some behind, which the next attempt reports.
// Replacements are first written completely beside the old files.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace nrd::cli {

inline constexpr mode_t kPublic = 0644;
inline constexpr mode_t kSecret = 0600;

struct NewFile {
  std::string name;
  std::string content;
  mode_t mode = kSecret;
};

// Without a trailing slash, which would make the path follow a symbolic link.
std::string absolute_path(const std::string& path);

enum class Existing { Refuse, Replace };

// Creates `directory` (mode 0700, not its parents) if absent; refuses one that other users can write to. On success
// the files are on disk (fsync). Error messages are written for the user who chose the directory.
Result<void> write_new_files(const std::string& directory, const std::vector<NewFile>& files,
                             Existing existing = Existing::Refuse);

}  // namespace nrd::cli
