// [cpu.quotas] of the configuration: how it is parsed, shown as it is written, and resolved on this node.
#pragma once

#include <optional>

#include "daemon/config_values.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/cpu_quotas.h"

namespace nrd::daemon {

// {"alice" = {pools = ["fast"], count = 8}}: at most 1024 users and groups ("@quant"). An empty table is not the same
// as none: it leaves the role `run` no CPUs of pools.
ValueType<std::optional<NamedCpuQuotas>> cpu_quotas();

// BadRequest at cpu.quotas if a quota names a pool that is not configured.
Result<void> check_quotas(const std::optional<NamedCpuQuotas>& quotas, const CpuPools& pools);

// By number. Skips unknown users and groups, with a log line: they cannot connect. Fails if one cannot be looked up:
// without the quota of a user those of its groups would apply, which may permit more.
Result<std::optional<CpuQuotas>> resolve_quotas(const std::optional<NamedCpuQuotas>& quotas);

}  // namespace nrd::daemon
