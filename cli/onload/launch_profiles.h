// Profiles for the launcher: finds them and evaluates the variables they set.
//
// All profiles are evaluated in this process, as the user who starts the application: static ones by the same code as
// in nrd, dynamic ones by /bin/sh. The caller's environment, which may hold secrets, is therefore never sent, and
// precedence is the same everywhere. nrd provides the texts; profiles stored over its API are treated as data
// (hw/onload/profiles/profile_text.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client.h"
#include "cli/environment.h"
#include "cli/onload/profile_shell.h"
#include "hw/onload/profiles/evaluate.h"

namespace nrd::cli {

// Searched after ~/.openonload/profiles.
struct ProfileSource {
  const Client* client = nullptr;    // client of nrd; null: search `folders`
  std::vector<std::string> folders;  // local directories, read with the caller's permissions
};

// `run` without folders, which those of `source` become. Warnings include the output of profiles.
Result<profiles::Evaluated> evaluate_profiles(const ProfileSource& source, ShellRun run);

}  // namespace nrd::cli
