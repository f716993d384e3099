// The section [onload] of the configuration. Plain data: an nrd built without Onload has the defaults and no keys.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/onload/spec.h"

namespace nrd::daemon {

// Of a module, that clients may set (parameters.h).
struct AllowedParameter {
  std::string module;
  std::string name;
  std::optional<std::string> value;  // nullopt: any value
  friend bool operator==(const AllowedParameter&, const AllowedParameter&) = default;
};

struct LaunchConfig {
  std::string versions = "/opt/nrd/onload";                      // layout: hw/onload/versions.h
  std::string imports = "/opt/nrd/import";                       // imports must lie below this directory
  onload::UsersPolicy users_policy = onload::UsersPolicy::Wait;  // the most forceful policy clients may request
  std::chrono::seconds refresh_interval{10};
  onload::AtStart at_start = onload::AtStart::Apply;
  std::string device_user = "root";
  std::string device_group = "root";
  mode_t device_mode = 0666;
  bool protect_default_route = true;  // do not remove the driver of its interface
  std::vector<std::string> profiles = {"/etc/nrd/onload/profiles"};
  size_t max_allocations = 100;
  std::vector<AllowedParameter> parameters;  // that clients may set besides tuning ones
  friend bool operator==(const LaunchConfig&, const LaunchConfig&) = default;
};

}  // namespace nrd::daemon
