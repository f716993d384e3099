// Verification of Onload: the conditions for a generation to count as verified.
//
//   interfaces      of the driver exist under the names they had before it was removed
//   library         matches the module (hw/onload/user_files.h)
//   modules         are live, loaded from the version's files (build id), and report its release
//   devices         nodes have the right device numbers
//   control plane   a server of this version runs, within the module's own time-out
//   kernel log      has no errors since the first module was loaded
//
// Parameters are not checked here: a difference leads to a step of its own (engine/onload/next_step.h). Read-only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/onload/host.h"
#include "engine/onload/target.h"
#include "hw/onload/kernel_log.h"

namespace nrd::daemon {

inline constexpr const char* kRoot = "";  // before paths of the host

struct Expected {
  const onload::Target& target;
  const std::vector<onload::NotedInterface>& before;
  std::optional<bool> library_fits;     // nullopt: the version has no library
  std::string release;                  // version of the onload module file; empty: none
  std::vector<onload::LogLine> kernel;  // kernel log since the first module was loaded
};

// Logs a failure. Waits up to 30 s for the control plane and up to 10 s for interfaces.
onload::Acted verify_onload(const Expected& expected, const Clock& clock);

}  // namespace nrd::daemon
