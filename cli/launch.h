// nrdctl run: starts a command with its own CPUs, cache ways, frequencies and acceleration.
//
// The resources belong to this process, which becomes the command through execve(2): same PID, parent and terminal,
// so signals and the exit status need no forwarding. nrd watches the process through a pidfd and releases everything
// when it exits; a waiting launcher could be killed and would leave the resources behind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/environment.h"

namespace nrd::cli {

// In addition to Exit, as used by shells and sysexits.h.
enum LaunchExit : int {
  kNotExecutable = 126,
  kNoSuchCommand = 127,
};

inline constexpr const char* kPreload = "LD_PRELOAD";

struct Launch;

// A launch that is being prepared.
struct Launching {
  const Client& client;
  const Launch& wanted;
  const std::string& owner;    // this process as JSON
  const std::string& program;  // file of the command
  bool is_privileged = false;  // setuid or setgid
  Environment& environment;    // of the command
};
// Accelerates the command; returns the LD_PRELOAD of the command alone, empty: unchanged.
using Accelerate = std::function<OrStop<std::string>(const Launching&)>;

struct Launch {
  NewWorkload workload;  // cpus may be empty: no CPUs requested
  Accelerate accelerate{};
  std::vector<std::string> variables;
  bool offline = false;  // continue without nrd if it is unreachable
  std::vector<std::string> command;
};

// Success, after a message, if the command is to be started `consequence` without nrd.
OrStop<> pass_unreachable(const Launch& wanted, const Error& error, const std::string& consequence);

// Returns only if the command could not be started.
OrStop<> launch(const Client& client, const Launch& wanted);

}  // namespace nrd::cli
