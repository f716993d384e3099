// The password of --user: from a file, from a descriptor, or asked for at the terminal without an echo. Never from the
// command line or the environment, where other processes can read it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace nrd::cli {

struct PasswordSource {
  std::string file;       // its first line; refused if others than its owner can read it
  std::optional<int> fd;  // likewise; if there is no file
};

// Without a source, whoever sits at the terminal is asked.
Result<Secret> read_password(const PasswordSource& from, const std::string& user);

}  // namespace nrd::cli
