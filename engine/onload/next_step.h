// The next step of an operation, computed from the observed state and the target. Pure: after a crash, a reboot or a
// manual rmmod it gives the right step, and a rollback is just another target.
//
//   modules must be removed    close device access, end users, stop the control plane, remove in unload order
//   nothing left to remove     switch files, insert in load order, set parameters and interfaces, verify, open access
//   access is to be closed     close it as soon as the last module is loaded, and do not open it
//
// Unload order starts with `onload`, then sfc_char, sfc_resource and, if managed, sfc. Remove a module only after those
// above it: the kernel would let sfc go while onload is loaded, and its interfaces with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/onload/target.h"

namespace nrd::onload {

// Insert the distribution's module, not the version's.
inline constexpr std::string_view kSystemDriver = "system";

struct NextStep {
  Act act = Act::Verify;
  std::string subject;  // as in Step
  std::string value;    // for SetParameter; for Configure "on" or "off"; for Insert kSystemDriver or empty
  friend bool operator==(const NextStep&, const NextStep&) = default;
};

// Progress of this run that the node does not show.
struct RunState {
  bool users_ended = false;     // since device access was closed
  bool verified = false;        // since the last change
  bool access_closed = false;   // known to be closed
  bool access_to_open = false;  // was closed, or the nodes are new
  bool server_stopped = false;
  bool has_system_driver = false;  // inserted; its build id may equal that of our driver
};

// Updates the run state after a completed step.
void remember(RunState& run_state, const NextStep& step);

// nullopt: the target is reached.
std::optional<NextStep> next_step(const Target& target, const ObservedState& observed, const RunState& run_state);

// Modules to remove on the way to the target, in removal order.
std::vector<std::string> removals(const Target& target, const ObservedState& observed, const RunState& run_state = {});

}  // namespace nrd::onload
