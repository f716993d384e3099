// What an application is given to run with Onload, and who was given it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/onload/spec.h"
#include "hw/onload/profiles/evaluate.h"
#include "store/owner.h"

namespace nrd::onload {

// What profiles and a caller's variables make together.
struct RenderRequest {
  std::vector<std::string> profiles;
  profiles::Environment environment;  // the caller's; stands in the result as well
  profiles::Winner winner = profiles::Winner::Caller;
  friend bool operator==(const RenderRequest&, const RenderRequest&) = default;
};

enum class Form { Json, Env, Systemd, ConfigMap };

struct RenderedProfiles {
  profiles::Environment environment;  // of Form::Json, otherwise empty
  std::string text;                   // of all others
  std::vector<std::string> warnings;
};

enum class Preload { No, Yes };

struct AllocationRequest {
  RenderRequest what;  // LD_PRELOAD in it is what the application has already
  Preload preload = Preload::Yes;
  store::Owner owner;
};

struct Allocation {
  uint64_t id = 0;
  store::Owner owner;
  uint64_t generation = 0;
  std::string version;
  Time created;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct Mount {
  std::string source;
  std::string target;  // read only
  friend bool operator==(const Mount&, const Mount&) = default;
};

// What it takes to start with Onload now.
struct LaunchEnvironment {
  uint64_t generation = 0;
  std::string version;
  profiles::Environment environment;  // to be set
  std::vector<std::string> devices;
  std::vector<Mount> mounts;  // the library's files, for a container
  std::vector<std::string> warnings;
};

struct Allocated {
  Allocation allocation;
  LaunchEnvironment launch;
};

// A workload that may run with Onload. Its place among those that are counted is held while `place` is: until the
// workload is stored, and counts itself, or was refused.
struct Admitted {
  LaunchEnvironment launch;
  std::shared_ptr<const void> place;
};

}  // namespace nrd::onload
