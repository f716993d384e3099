// The frequencies of CPUs: what they can be, what they are set to, and setting them.
//
// Through cpufreq where a driver holds the CPU, otherwise through MSRs. Called by the engine thread only. Errors are
// Hardware with path, errno or register in `detail`; a setting that a CPU cannot have in any case (min above max, no
// knob for it) is BadRequest or Unsupported and refused before anything is written.
#pragma once

#include <string>

#include "base/result.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

class Pstate {
 public:
  // Below `root` lie sys/devices/system/cpu, dev/cpu and proc/cpuinfo; "" is the host itself.
  explicit Pstate(std::string root = "") : root_(std::move(root)) {}

  // A node without any way to set frequencies is no error: see Node::missing.
  Result<Node> discover();
  // Of the CPUs that discover() found last. One that has gone offline since is left out.
  Result<Observed> observe();
  // Writes what differs from what is read, in an order that the kernel accepts, and reads it back. What is read must be
  // what was wanted; the first CPU that does not take it is named with what it says instead.
  // CPUs that are not there any more are left out.
  Result<void> converge(const Setting& wanted);

 private:
  std::string root_;
  Node node_;
};

}  // namespace nrd::pstate
