// Onload allocations: the launch environment of an application, and the process that holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/origin.h"
#include "base/owner.h"
#include "engine/onload/documents.h"
#include "hw/onload/profiles/evaluate.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Profiles to evaluate on top of a caller's variables.
struct RenderRequest {
  std::vector<std::string> profiles;
  profiles::Environment environment;  // the caller's; included in the result
  profiles::Winner winner = profiles::Winner::Caller;
  friend bool operator==(const RenderRequest&, const RenderRequest&) = default;
};

enum class Form { Json, Env, Systemd, ConfigMap };

struct RenderedProfiles {
  profiles::Environment environment;  // for Form::Json, otherwise empty
  std::string text;                   // for all other forms
  std::vector<std::string> warnings;
};

enum class Preload { No, Yes };

struct AllocationRequest {
  RenderRequest what;  // its LD_PRELOAD is what the application already preloads
  Preload preload = Preload::Yes;
  Owner owner;
  std::string origin = kOriginRest;
};

struct Mount {
  std::string source;
  std::string target;  // mounted read-only
  friend bool operator==(const Mount&, const Mount&) = default;
};

// What an application needs to start with Onload now.
struct LaunchEnvironment {
  uint64_t generation = 0;
  std::string version;
  profiles::Environment environment;  // variables to set
  std::vector<DeviceNode> devices;    // that lead to their device
  std::vector<Mount> mounts;          // library files, for a container
  std::vector<std::string> warnings;
};

struct Allocated {
  Allocation allocation;
  LaunchEnvironment launch;
};

// A workload admitted to Onload. While `place` is held, the workload counts towards the limit: until it is stored, and
// counts itself, or is refused.
struct Admitted {
  LaunchEnvironment launch;
  std::shared_ptr<const void> place;
};

}  // namespace nrd::onload
