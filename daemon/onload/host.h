// Onload on this node: joins the rooms of hw/onload behind the engine's Host. Called by the controller's thread only.
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
  std::string versions = "/opt/nrd/onload";                  // hw/onload/versions.h has its shape
  std::string imports = "/opt/nrd/import";                   // what is imported lies below it
  onload::Access devices{.uid = 0, .gid = 0, .mode = 0666};  // of the device nodes while the device_access is open
  enum class DefaultRoute { Protected, Free };
  std::vector<AllowedParameter> parameters;              // what clients may set beside those that only tune
  DefaultRoute default_route = DefaultRoute::Protected;  // the driver is not removed below it
};

// Removes what interrupted imports left. `clock` must outlive it.
std::unique_ptr<onload::Host> open_onload_host(OnloadOptions options, const Clock& clock);

}  // namespace nrd::daemon
