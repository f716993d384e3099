// nrdctl run: starts a command on CPUs, with cache ways, frequencies and Onload of its own.
//
// What it gets belongs to this process, which becomes the command (execve(2)): same number, same parent, same terminal,
// so signals and the exit status are the command's own without anybody in between. nrd holds the process by a pidfd
// and gives everything back when it ends, however it ends; a launcher that waited could be killed itself, and would
// leave everything behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"

namespace nrd::cli {

// Beside those of Exit, as shells and sysexits.h have them.
enum LaunchExit : int {
  kTryAgain = 75,  // EX_TEMPFAIL: no ways or allocations left, or Onload's door is closed
  kNotExecutable = 126,
  kNoSuchCommand = 127,
};

// What an application is to run with Onload with.
struct OnloadStart {
  std::vector<std::string> profiles;
  std::vector<std::string> variables;  // "EF_POLL_USEC=0", over the environment
  bool force = false;                  // profiles win over both
  bool preload = true;
};

struct Launch {
  NewWorkload workload;  // cpus may be empty: none is asked for
  std::optional<OnloadStart> onload;
  std::vector<std::string> variables;
  bool require_accel = false;        // at least one interface is accelerated, and Onload does not fall back
  bool allow_unaccelerated = false;  // start without Onload if it is not loaded
  bool offline = false;              // go on without nrd if it cannot be reached
  std::vector<std::string> command;
};

// Does not return if the command was started.
int launch(const Client& client, const Launch& wanted);

// "latency,mine" -> {"latency", "mine"}
std::vector<std::string> split_names(const std::string& list);

}  // namespace nrd::cli
