// Reads the password of --user from a file, a descriptor or a terminal prompt without echo. Never from the command
// line or the environment, which other processes can read.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace nrd::cli {

struct PasswordSource {
  std::string file;       // first line is used; refused if other users can read it
  std::optional<int> fd;  // likewise; used if `file` is empty
};

// Prompts on the terminal if no source is given.
Result<Secret> read_password(const PasswordSource& from, const std::string& user);

}  // namespace nrd::cli
