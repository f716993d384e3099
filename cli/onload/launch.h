// nrdctl run: starts a command with its own CPUs, cache ways, frequencies and Onload.
//
// The resources belong to this process, which becomes the command through execve(2): same PID, parent and terminal,
// so signals and the exit status need no forwarding. nrd watches the process through a pidfd and releases everything
// when it exits; a waiting launcher could be killed and would leave the resources behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"

namespace nrd::cli {

// In addition to Exit, as used by shells and sysexits.h.
enum LaunchExit : int {
  kNotExecutable = 126,
  kNoSuchCommand = 127,
};

// What an application needs to start with Onload.
struct OnloadStart {
  std::vector<std::string> profiles;
  std::vector<std::string> variables;  // "EF_POLL_USEC=0"; override the environment
  bool force = false;                  // profiles override both
  bool preload = true;
};

struct Launch {
  NewWorkload workload;  // cpus may be empty: no CPUs requested
  std::optional<OnloadStart> onload;
  std::vector<std::string> variables;
  bool require_accel = false;        // require an accelerated interface and no fallback to the kernel
  bool allow_unaccelerated = false;  // start without Onload if it is not loaded
  bool offline = false;              // continue without nrd if it is unreachable
  std::vector<std::string> command;
};

// The allocation in the response to a request for one; kTryLater: none is left now.
Outcome<json::Value> allocation_in(const Answer& answer);

// Returns only if the command could not be started.
Outcome<> launch(const Client& client, const Launch& wanted);

}  // namespace nrd::cli
