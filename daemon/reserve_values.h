// [reserve.kubernetes] of the configuration: how it is parsed and shown as it is written.
#pragma once

#include <optional>

#include "daemon/config_values.h"
#include "engine/model/reserves.h"

namespace nrd::daemon {

struct Config;

// {ways = 5, onload = 50, pools = {fast = "4-7", common = 2}}
ValueType<std::optional<Reserve>> reserve();

// BadRequest at reserve.kubernetes: more of Onload than onload.max_allocations.
Result<void> check_onload_reserves(const Config& config);

}  // namespace nrd::daemon
