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

// Sends SIGTERM and, after `timeout`, SIGKILL. `exe`: the program it ran when it was found; a process that is gone, or
// runs another program, gets no signal. Busy: it still runs five seconds after SIGKILL.
Result<void> stop_process(const ProcessId& process, const std::string& exe, std::chrono::milliseconds timeout);

enum class Signal { Term, Kill };

// Sends the signal without waiting. A process that has exited is not a failure.
Result<void> signal_process(const ProcessId& process, Signal signal);

}  // namespace nrd::onload
