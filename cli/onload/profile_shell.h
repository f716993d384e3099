// Runs profiles that are shell programs with /bin/sh, as the user of nrdctl, before the application starts.
//
// nrd never does this: it is root. The caller could run the same code anyway, so the limits only guard against
// mistakes: PATH is fixed, time and output are bounded, terminal input is closed, and the resulting variables must
// not choose which code runs (hw/onload/profiles/variable.h).
//
// `onload_set`, `onload_import` and the other helpers are our shell functions; the first assignment of a variable
// wins, as in static profiles.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/environment.h"

namespace nrd::cli {

enum class Force { No, Yes };  // profiles override the caller's environment

struct ShellRun {
  std::vector<std::string> names;    // of profiles, in order
  std::vector<std::string> folders;  // searched in order
  Environment caller;
  Force force = Force::No;
  std::vector<std::string> application;  // "$@": the command and its arguments
  std::chrono::milliseconds deadline{30000};
};

struct ShellResult {
  Environment changed;  // new or changed variables
  std::string output;   // output of the profiles, for the user
};

// BadRequest with the reason: failure, timeout, too much output, or a forbidden variable.
Result<ShellResult> run_profiles(const ShellRun& run);

}  // namespace nrd::cli
