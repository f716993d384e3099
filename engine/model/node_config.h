// The configuration of the node's resources. Revisions of NodeState share one until a reload replaces it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/model/cpu_pools.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/pools.h"
#include "engine/model/reserved_cpus.h"
#include "engine/model/reserves.h"

namespace nrd {

struct Policies;

// What to do with a guarantee whose ways a foreign group may fill.
enum class ForeignGroups { Report, Refuse };

struct NodeConfig {
  PoolSizes pools{};
  bool shrink = false;                   // shrink best effort for new workloads
  std::optional<unsigned> max_shared{};  // workloads in the shared class; nullopt: no limit
  ReservedCpus groups{};
  unsigned reserved_classes = 0;  // kept for foreign groups, including the existing ones
  ForeignGroups foreign_groups = ForeignGroups::Report;
  CpuPools cpu_pools{};
  Confinement confinement = Confinement::None;
  std::optional<CpuQuotas> cpu_quotas{};           // nullopt: the role `run` is not limited
  std::string default_pool{};                      // of requests that name tasks and no CPUs; empty: none
  std::chrono::milliseconds systemd_timeout{800};  // for its answers, in all for one request
  Reserves reserves{};
  std::shared_ptr<const Policies> policies{};  // of this microarchitecture; null: none configured
  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

}  // namespace nrd
