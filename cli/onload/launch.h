// Onload for nrdctl run: its allocation, library and profiles.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/launch.h"

namespace nrd::cli {

// What an application needs to start with Onload.
struct OnloadStart {
  std::vector<std::string> profiles;
  std::vector<std::string> variables;  // "EF_POLL_USEC=0"; override the environment
  bool force = false;                  // profiles override both
  bool preload = true;
  bool require_accel = false;        // require an accelerated interface and no fallback to the kernel
  bool allow_unaccelerated = false;  // start without Onload if it is not loaded
};

// The allocation in the response to a request for one; kTryLater: none is left now.
OrStop<json::Value> allocation_in(const Answer& answer);

// As Accelerate.
OrStop<std::string> launch_onload(const Launching& launch, const OnloadStart& wanted);

}  // namespace nrd::cli
