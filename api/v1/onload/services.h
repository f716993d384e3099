// The services of the handlers of Onload.
#pragma once

#include <memory>

#include "api/v1/onload/usage_cache.h"
#include "engine/onload/allocations.h"
#include "engine/onload/controller.h"

namespace nrd::v1 {

struct LaunchServices {
  onload::Controller& controller;
  onload::Allocations& allocations;
  std::shared_ptr<UsageCache> usage = std::make_shared<UsageCache>();
};

}  // namespace nrd::v1
