// Whether Onload is what was wanted: the conditions under which a generation counts as verified.
//
//   interfaces      of the driver are there under the names they had before it was removed
//   library         speaks to the module (hw/onload/library_interface.h)
//   modules         live, of the very files of the version (build id), and told to be its release
//   devices         lead to their devices
//   control plane   a server of this version runs, within the module's own time-out
//   kernel log      says nothing that went wrong since the first module was loaded
//
// Parameters are not asked about here: a difference is a stage of its own (engine/onload/next_step.h). Looks only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/onload/host.h"
#include "engine/onload/target.h"
#include "hw/onload/kernel_log.h"

namespace nrd::daemon {

struct Expected {
  const onload::Target& target;
  const std::vector<onload::NotedInterface>& before;
  std::optional<bool> library_fits;     // nullopt: the version has none
  std::string release;                  // version of the module onload, as its file says; empty: it has none
  std::vector<onload::LogLine> kernel;  // of the kernel's log since the first module was loaded
};

// Waits for the control plane, 30 s at most, and for interfaces, 10 s at most.
onload::Acted verify_onload(const Expected& expected, const Clock& clock);

}  // namespace nrd::daemon
