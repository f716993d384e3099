#include "engine/transaction/reconfigure.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "engine/model/confinement.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/node_state.h"
#include "engine/plan/pool_change.h"
#include "engine/transaction/claims.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/conflict_watch.h"
#include "engine/transaction/foreign_group_watch.h"
#include "engine/transaction/hardware_sync.h"
#include "engine/transaction/proposal.h"

namespace nrd {
namespace {

// Limits and policies concern later requests only.
bool changes_hardware(const NodeConfig& before, const NodeConfig& after) {
  return !(before.pools == after.pools && before.groups == after.groups && before.cpu_pools == after.cpu_pools &&
           before.confinement == after.confinement);
}

}  // namespace

Result<NodeConfig> with_resolved_pools(NodeConfig config, const NodeFacts& facts) {
  const PoolSite site{.possible = facts.rdt.possible, .isolated = facts.rdt.isolated, .zones = facts.cpuset.zones};
  if (!config.cpu_pools.empty() && site.zones.empty())
    return fail_at(ErrorCode::Hardware, "cpu.pools",
                   "cpu.pools: the topology of the CPUs cannot be read (journal: NO_TOPOLOGY)",
                   "no pools on this node");
  config.cpu_pools = TRY(resolve_cpu_pools(std::move(config.cpu_pools), config.groups, site));
  TRY(check_cpu_pools(config.cpu_pools, config.groups, site));
  TRY(check_reserves(config.reserves, config.cpu_pools, site.zones));
  TRY(check_confinement(config, facts));
  return config;
}

// Grants are kept: a pool that has any keeps its kind and its granted CPUs. What a change of the configuration took
// while nrd was stopped is not in the way of another one.
Result<void> Reconfigure::check_granted(const CpuPools& pools) {
  std::string affected;
  for (const auto& [id, workload] : state_.workloads) {
    const auto is_kept = [&](const CpuGrant& grant) {
      const CpuPool* before = pool_of(state_, grant);
      const CpuPool* after = find_pool(pools, grant.pool);
      if (!before || !after) return !before;
      const CpuSet granted = grant.exclusive | grant.idle_siblings;
      return (granted - after->cpus).is_subset_of(granted - before->cpus) && before->kind == after->kind;
    };
    if (!std::ranges::all_of(cpu_grants_of(workload), is_kept))
      affected += (affected.empty() ? "" : ", ") + id_text(workload);
  }
  if (affected.empty()) return {};
  return fail_at(ErrorCode::Conflict, "cpu.pools",
                 fmt::format("cpu.pools: workloads {} would lose their CPUs", affected),
                 "delete these workloads first");
}

namespace {

// A shared pool that becomes smaller has the CPU time that its members requested.
Result<void> check_shares(const NodeState& state, const CpuPools& pools) {
  const CpuSet& online = state.facts.rdt.online;
  for (const CpuPool& before : state.config->cpu_pools) {
    const CpuPool* after = find_pool(pools, before.name);
    if (!after || (before.cpus & online).size() <= (after->cpus & online).size()) continue;
    const uint64_t requested = requested_milli(state, before);
    const uint64_t left = uint64_t{1000} * (after->cpus & online).size();
    if (requested <= left) continue;
    std::string members;
    for (const auto& [id, workload] : state.workloads) {
      const auto is_in = [&before](const CpuGrant& grant) { return grant.pool == before.name; };
      if (std::ranges::any_of(cpu_grants_of(workload), is_in))
        members += (members.empty() ? "" : ", ") + id_text(workload);
    }
    return fail_at(ErrorCode::Conflict, "cpu.pools",
                   fmt::format("cpu.pools: pool {} would have {} thousandths of a CPU, but workloads {} requested {}",
                               before.name, left, members, requested),
                   "delete some of these workloads first, or lower their request_milli");
  }
  return {};
}

}  // namespace

Result<NodeConfig> Reconfigure::resolved(const NodeConfig& config) {
  NodeConfig next = TRY(with_resolved_pools(config, state_.facts));
  const bool confines = next.confinement != Confinement::None || state_.config->confinement != Confinement::None;
  if (confines && changes_hardware(*state_.config, next)) {
    // Whose answer also tells that systemd is there to change slices.
    const std::map<std::string, CpuSet> pinned = TRY(hardware_.pinned_services());
    TRY(check_pinned_units(next, state_.facts, pinned));
  }
  TRY(check_granted(next.cpu_pools));
  TRY(check_limited_targets(state_, next.confinement));
  TRY(check_shares(state_, next.cpu_pools));
  const std::optional<rdt::Cat>& cat = state_.facts.rdt.main().cat;
  if (!cat) return next;
  const PoolPartition layout = TRY(plan_layout(*cat, next.pools));
  TRY(check_reserved_cpus(next.groups, state_.facts.rdt, layout));
  TRY(check_reserved_ways(next.reserves, layout));
  TRY(plan::check_pool_change(state_, layout));
  return next;
}

Result<void> Reconfigure::apply(const NodeConfig& config) {
  NodeConfig checked = TRY(resolved(config));
  const auto next = std::make_shared<const NodeConfig>(std::move(checked));
  const auto use = [this](std::shared_ptr<const NodeConfig> used) {
    hardware_.set_systemd_timeout(used->systemd_timeout);
    return std::exchange(state_.config, std::move(used));
  };
  if (!changes_hardware(*state_.config, *next)) {
    use(next);
    return {};
  }
  TRY(commits_.resolve());
  TRY(hardware_.await_locks());
  const auto before = use(next);
  const std::set<Task> infra_tasks = state_.infra_tasks;
  const Result<void> converged = converge();
  if (!converged) {
    log::error("CONVERGE_FAILED", converged.error().message, {{"DETAIL", converged.error().detail}});
    use(before);
    state_.infra_tasks = infra_tasks;
    sync_.rollback();
    return converged;
  }
  groups_.report_sharing();
  refresh_conflicts(hardware_, state_);
  return {};
}

Result<void> Reconfigure::converge() {
  TRY(sync_.discover());
  TRY(sync_.refresh_with_infra({}));
  sync_.refresh_noise();
  Proposal present{state_.workloads, setting_of(state_)};
  TRY(check_no_memory_moves(state_, present.setting));
  TRY(claims_.claim(present));
  TRY(sync_.converge(std::move(present.setting), HardwareSync::Scope::Configuration));
  commits_.release_restored();
  return {};
}

}  // namespace nrd
