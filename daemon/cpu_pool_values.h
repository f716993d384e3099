// [[cpu.pools]] of the configuration: how it is parsed, and shown as it is written.
#pragma once

#include "daemon/config_values.h"
#include "engine/model/cpu_pools.h"

namespace nrd::daemon {

inline constexpr size_t kMostPools = 64;

// At most kMostPools, with names of their own, without a CPU in two of them, and with at most one "rest".
ValueType<CpuPools> cpu_pools();

}  // namespace nrd::daemon
