// Profiles that are shell programs, run by /bin/sh as whoever calls nrdctl, before the application is started.
//
// Never by nrd: it is root. What runs here could be run by its caller anyway, so this protects him from mistakes, not
// from himself: PATH is fixed, time and output are bounded, nothing reaches his terminal's input, and of the variables
// that come out none may choose which code runs (hw/onload/profiles/variable.h).
//
// `onload_set`, `onload_import` and what else a profile calls are functions of ours; the first who sets a name keeps
// it, as in static profiles.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/environment.h"

namespace nrd::cli {

enum class Force { No, Yes };  // profiles win over the caller's environment

struct ShellRun {
  std::vector<std::string> names;    // of profiles, in order
  std::vector<std::string> folders;  // where they are looked for, in order
  Environment caller;
  Force force = Force::No;
  std::vector<std::string> application;  // "$@": the command and its arguments
  std::chrono::milliseconds deadline{30000};
};

struct ShellResult {
  Environment changed;  // new, or another value than the caller's
  std::string output;   // what they wrote, for people
};

// BadRequest with the reason: it failed, took too long, wrote too much, or set what must not be set.
Result<ShellResult> run_profiles(const ShellRun& run);

}  // namespace nrd::cli
