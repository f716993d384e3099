// The node for Onload operations: implements the engine's Host with hw/onload. Controller thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/onload/parameters.h"
#include "engine/onload/host.h"
#include "hw/onload/types.h"

namespace nrd::daemon {

struct OnloadOptions {
  std::string versions = "/opt/nrd/onload";                  // layout: hw/onload/versions.h
  std::string imports = "/opt/nrd/import";                   // imports must lie below this directory
  onload::Access devices{.uid = 0, .gid = 0, .mode = 0666};  // access of the device nodes while open
  enum class DefaultRoute { Protected, Free };
  std::vector<AllowedParameter> parameters;              // parameters clients may set besides tuning ones
  DefaultRoute default_route = DefaultRoute::Protected;  // do not remove the driver of its interface
};

// Removes leftovers of interrupted imports. `clock` must outlive it.
std::unique_ptr<onload::Host> open_onload_host(OnloadOptions options, const Clock& clock);

}  // namespace nrd::daemon
