// The next step of a run, from what is there and where it goes. Pure, and without run_state: after a crash, a reboot
// or somebody's rmmod the same question gets the right answer, and a rollback is a run to another target.
//
//   something must be removed    close the device_access, end users, stop the control plane, remove from the top
//   nothing more to remove       switch the files, insert from the bottom, set parameters and interfaces, verify, open
//   it the device_access is to be shut       close it as soon as the last module is there, and do not open it
//
// The top is `onload`, below it sfc_char, sfc_resource and, if it is managed, sfc. What lies below a module that must
// go must not be touched before that: sfc would let itself be removed under a loaded onload, and take the interfaces
// along.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/onload/target.h"

namespace nrd::onload {

// The distribution's module, and not that of the version.
inline constexpr std::string_view kOfSystem = "system";

struct NextStep {
  Act act = Act::Verify;
  std::string subject;  // as in Step
  std::string value;    // of SetParameter; of Configure "on" or "off"; of Insert kOfSystem or nothing
  friend bool operator==(const NextStep&, const NextStep&) = default;
};

// What this run has done and what cannot be seen on the node.
struct RunState {
  bool users_ended = false;   // since the device_access was closed
  bool verified = false;      // since the last change
  bool door_closed = false;   // for certain
  bool door_to_open = false;  // it was closed, or made anew
  bool server_stopped = false;
  bool has_systems_driver = false;  // inserted, whatever its build id: it may be built from what ours is built from
};

// What is remembered of a step that was done.
void remember(RunState& run_state, const NextStep& step);

// nullopt: arrived.
std::optional<NextStep> next_step(const Target& target, const Seen& seen, const RunState& run_state);

// Modules that must be removed to get there, in the order of removal.
std::vector<std::string> removals(const Target& target, const Seen& seen, const RunState& run_state = {});

}  // namespace nrd::onload
