#include "engine/model/reserved_cpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/find_in.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

Failure refused(const std::string& key, const std::string& problem, const std::string& allowed) {
  return fail_at(ErrorCode::BadRequest, key, fmt::format("{}: {}", key, problem), allowed);
}

Result<void> check_exist(const std::string& key, const CpuSet& cpus, const rdt::Node& node) {
  const CpuSet unknown = cpus - node.possible;
  if (unknown.empty()) return {};
  return refused(
      key, fmt::format("CPU {} does not exist; this node has CPUs {}", unknown.to_string(), node.possible.to_string()),
      "CPUs of " + node.possible.to_string());
}

std::string infra_key(const ReservedCpus& groups) { return groups.infra.empty() ? "infra.processes" : "infra.cpus"; }

}  // namespace

Result<void> check_reserved_cpus(const ReservedCpus& groups, unsigned infra_ways) {
  if (const CpuSet both = groups.os & groups.infra; !both.empty()) {
    return refused("infra.cpus", fmt::format("CPU {} is also in os.cpus", both.to_string()), "CPUs of one group only");
  }
  if (!groups.has_infra() || infra_ways > 0) return {};
  return refused(infra_key(groups), "the infrastructure has no ways: cache_pools.infra is 0",
                 "cache_pools.infra of 1 or more");
}

Result<void> check_reserved_cpus(const ReservedCpus& groups, const rdt::Node& node, const PoolPartition& layout) {
  TRY(check_exist("os.cpus", groups.os, node));
  TRY(check_exist("infra.cpus", groups.infra, node));
  TRY(check_reserved_cpus(groups, layout.infra.count()));
  if (!groups.has_infra()) return {};
  const std::string key = infra_key(groups);
  if (node.main().cat && node.main().cat->classes < 2) {
    return refused(key, "the infrastructure needs a class of service, but the node has only the root class",
                   "no " + key);
  }
  return {};
}

bool is_reserved_for_infra(const NodeState& state, ClosId clos) {
  return clos == kInfraClass && state.config->groups.has_infra();
}

WayMask infra_ways(const NodeState& state, CacheId cache) {
  const CpuSet* cpus = find_in(state.facts.rdt.main().caches, cache);
  const PoolPartition* layout = main_layout(state);
  if (!layout || !cpus) return {};
  if (state.config->groups.infra_processes.empty() && !cpus->intersects(state.config->groups.infra)) return {};
  // Foreign groups hold the class: it is neither claimed nor free.
  if (!state.made_groups.contains(kInfraClass) && !is_class_available(state, kInfraClass)) return {};
  const bool is_in_the_way = std::ranges::any_of(state.workloads, [&](const auto& entry) {
    const Grant& grant = entry.second.grant;
    const WayMask* ways = find_in(grant.ways, cache);
    return (grant.has_class() && grant.clos == kInfraClass) || (ways && ways->intersects(layout->infra));
  });
  return is_in_the_way ? WayMask() : layout->infra;
}

}  // namespace nrd
