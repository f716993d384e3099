// Ending one process and no other: through a descriptor of it (pidfd_open(2)), so that its number cannot come to mean
// somebody else between looking and ending. For control plane servers and shrub controllers, which would not let a
// module go.
//
// Waits up to the time given, so it is called where that is allowed.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

enum class IfItStays { Leave, Kill };

enum class Stopped {
  Ended,    // after SIGTERM
  Killed,   // after SIGKILL
  WasGone,  // or another process has its number by now, or it runs another program; nothing was sent
};

// `exe` is what it ran when it was found. Busy if it is still there when `patience` has passed; with Kill, five seconds
// after SIGKILL.
Result<Stopped> stop_process(const ProcessId& process, const std::string& exe, std::chrono::milliseconds patience,
                             IfItStays if_it_stays);

enum class Signal { Term, Kill };

// Sends and does not wait. One that has ended is an answer, not a failure; nobody else ever gets the signal.
Result<void> signal_process(const ProcessId& process, Signal signal);

}  // namespace nrd::onload
