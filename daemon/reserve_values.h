// [reserve.kubernetes] of the configuration: how it is parsed and shown as it is written.
#pragma once

#include <optional>

#include "daemon/config_values.h"
#include "engine/model/reserves.h"

namespace nrd::daemon {

inline constexpr unsigned kMostAllocations = 100'000;  // of Onload

// {ways = 5, onload = 50, pools = {fast = "4-7", common = 2}}
ValueType<std::optional<Reserve>> reserve();

}  // namespace nrd::daemon
