// Ends one process through a pidfd (pidfd_open(2)), so that a reused PID is never signalled. For control plane servers
// and shrub controllers, which keep modules in use.
//
// stop_process() blocks up to its timeout.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

enum class OnTimeout { Leave, Kill };

enum class Stopped {
  Ended,        // after SIGTERM
  Killed,       // after SIGKILL
  AlreadyGone,  // or the PID was reused, or it runs another program; no signal was sent
};

// `exe`: the program it ran when it was found. Busy: it still runs after `timeout` and, with Kill, five seconds after
// SIGKILL.
Result<Stopped> stop_process(const ProcessId& process, const std::string& exe, std::chrono::milliseconds timeout,
                             OnTimeout on_timeout);

enum class Signal { Term, Kill };

// Sends the signal without waiting. A process that has exited is not a failure.
Result<void> signal_process(const ProcessId& process, Signal signal);

}  // namespace nrd::onload
