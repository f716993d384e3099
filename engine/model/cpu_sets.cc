#include "engine/model/cpu_sets.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "engine/model/confinement.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/plan/cpus/zones.h"

namespace nrd {
namespace {

using cpuset::Target;

bool has_task(const Target& target) { return target.kind == Target::Kind::Task || target.kind == Target::Kind::Scope; }

}  // namespace

// False if unknown.
bool is_gone(const NodeState& state, const Target& target) {
  if (has_task(target) && target.task.boot_id != state.facts.boot_id) return true;
  // A scope outlives its first process, with whatever that has started.
  if (target.kind == Target::Kind::Task && has_ended(state, target.task)) return true;
  const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, target);
  return masks && masks->cpus.empty();
}

const CpuPool* pool_of(const NodeState& state, const CpuGrant& grant) {
  return find_pool(state.config->cpu_pools, grant.pool);
}

namespace {

bool is_absent_unit(const NodeState& state, const Target& target) {
  return target.kind == Target::Kind::Unit && is_gone(state, target);
}

Target target_of(const Workload& workload, const Task& task) {
  const auto& owner = workload.spec.owner;
  const bool is_owner = owner && task.is_process() && task.id == owner->pid && task.start == owner->start;
  if (!workload.grant.cpu->has_scope || !is_owner) return {.kind = Target::Kind::Task, .name = {}, .task = task};
  return {.kind = Target::Kind::Scope, .name = name_of_scope(workload), .task = task};
}

}  // namespace

// By its number, which is never reused (claims.cc) and short, whatever id the client chose.
std::string name_of_scope(const Workload& workload) { return fmt::format("nrd-{}.scope", workload.id.value); }

CpuSet free_cpus_of(const NodeState& state, const CpuPool& pool, std::optional<WorkloadId> self) {
  CpuSet free = pool.cpus & state.facts.rdt.online;
  for (const auto& [id, other] : state.workloads) {
    if (id != self) free -= reserved_cpus_of(other);
  }
  return free;
}

std::string owners_of(const NodeState& state, const CpuSet& cpus, std::optional<WorkloadId> self) {
  std::string owners;
  for (const auto& [id, other] : state.workloads) {
    if (id == self || !reserved_cpus_of(other).intersects(cpus)) continue;
    owners += (owners.empty() ? "workload " : ", ") + id_text(other);
    if (!other.spec.name.empty()) owners += fmt::format(" ({})", other.spec.name);
  }
  return owners;
}

CpuSet granted_cpus(const NodeState& state) {
  CpuSet granted;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.cpu) continue;
    granted |= workload.grant.cpu->exclusive;
    granted |= workload.grant.cpu->idle_siblings;
  }
  return granted;
}

Workloads with_late_siblings(const NodeState& state) {
  Workloads workloads = state.workloads;
  for (const auto& [id, workload] : state.workloads) {
    CpuSet threads;
    for (const CpuGrant& grant : cpu_grants_of(workload)) {
      const CpuPool* pool = pool_of(state, grant);
      if (!pool || pool->threads == CpuPool::Threads::Any) continue;
      for (const CpuId cpu : grant.exclusive.members()) threads |= state.cpu_zones->core_of(cpu) & pool->cpus;
    }
    const CpuSet late = threads - reserved_cpus_of(workload);
    if (late.empty() || late.intersects(granted_cpus(state))) continue;
    Workload next = workload;
    next.grant.cpu->idle_siblings |= late;
    workloads.put(std::move(next));
  }
  return workloads;
}

namespace {

CpuSet allowed_beside(const NodeState& state, const CpuGrant& grant, const CpuSet& granted) {
  const CpuSet& online = state.facts.rdt.online;
  if (!grant.exclusive.empty()) return grant.exclusive & online;
  const CpuPool* pool = pool_of(state, grant);
  return pool ? (pool->cpus & online) - granted : CpuSet();
}

std::optional<CpuSet> allowed_beside(const NodeState& state, const Workload& workload, const CpuSet& granted) {
  if (!workload.grant.cpu) return std::nullopt;
  CpuSet allowed;
  for (const CpuGrant& grant : cpu_grants_of(workload)) allowed |= allowed_beside(state, grant, granted);
  return allowed;
}

bool is_shared(const CpuGrant& grant) { return grant.exclusive.empty(); }

}  // namespace

CpuSet allowed_cpus(const NodeState& state, const CpuGrant& grant) {
  return allowed_beside(state, grant, is_shared(grant) ? granted_cpus(state) : CpuSet());
}

std::optional<CpuSet> allowed_cpus(const NodeState& state, const Workload& workload) {
  const bool has_shared = std::ranges::any_of(cpu_grants_of(workload), is_shared);
  return allowed_beside(state, workload, has_shared ? granted_cpus(state) : CpuSet());
}

std::optional<Target> group_target(const Spec& spec) {
  if (!spec.unit.empty()) return Target{.kind = Target::Kind::Unit, .name = spec.unit, .task = {}};
  if (!spec.cgroup.empty()) return Target{.kind = Target::Kind::Cgroup, .name = spec.cgroup, .task = {}};
  return std::nullopt;
}

bool names_tasks(const Spec& spec) { return !spec.tasks.empty() || group_target(spec); }

std::set<Task> processes_of(const NodeState& state, const Spec& spec) {
  const std::optional<Target> target = group_target(spec);
  const cpuset::Group* group = target ? find_in(state.observed.cpuset.groups, *target) : nullptr;
  return group ? group->processes : std::set<Task>();
}

std::set<Target> targets_of(const Workload& workload) {
  std::set<Target> targets;
  if (!workload.grant.cpu) return targets;
  if (std::optional<Target> group = group_target(workload.spec)) return {*std::move(group)};
  for (const Task& task : workload.spec.tasks) targets.insert(target_of(workload, task));
  return targets;
}

std::set<Target> known_targets(const NodeState& state) {
  std::set<Target> targets;
  for (const auto& [id, workload] : state.workloads) {
    targets.merge(targets_of(workload));
    if (std::optional<Target> group = group_target(workload.spec)) targets.insert(*std::move(group));
  }
  for (const auto& [target, cpus] : confinement_of(state)) targets.insert(target);
  for (const auto& [target, before] : state.baselines.cpu_sets) targets.insert(target);
  std::erase_if(targets, [&state](const Target& target) {
    return has_task(target) && target.task.boot_id != state.facts.boot_id;
  });
  return targets;
}

cpuset::Query query_of(const NodeState& state) {
  return {.targets = known_targets(state),
          .shares = targets_with_share(state),
          .memory = targets_with_memory(state),
          .latency = cpus_with_latency(state),
          .pinned = overwrites_unclaimed(state)};
}

bool has_unobserved(const NodeState& state) {
  const cpuset::Observed& observed = state.observed.cpuset;
  const auto lacks_any = [&state](const std::set<Target>& targets, const auto& values) {
    return std::ranges::any_of(
        targets, [&](const Target& target) { return !values.contains(target) && !is_gone(state, target); });
  };
  const auto is_unknown = [&](const Target& target) {
    return !observed.targets.contains(target) || is_absent_unit(state, target);
  };
  return std::ranges::any_of(known_targets(state), is_unknown) ||
         lacks_any(targets_with_share(state), observed.shares) ||
         lacks_any(targets_with_memory(state), observed.memory);
}

// The kernel keeps the lists of cgroups while their CPUs are offline, so that all is as before when one is back.
std::set<Target> waiting_targets(const NodeState& state) {
  std::set<Target> waiting;
  const CpuSet granted = granted_cpus(state);
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<CpuSet> allowed = allowed_beside(state, workload, granted);
    if (!allowed || !allowed->empty() || is_enforced_by_runtime(workload)) continue;
    const auto has_pool = [&state](const CpuGrant& grant) { return pool_of(state, grant) != nullptr; };
    if (std::ranges::any_of(cpu_grants_of(workload), has_pool)) waiting.merge(targets_of(workload));
  }
  const std::map<Target, CpuSet> confined = confinement_of(state);
  for (const auto& [target, before] : state.baselines.cpu_sets) {
    const bool is_wanted = state.config->confinement == Confinement::Partition && !confined.empty();
    if (target.kind == Target::Kind::Partition && is_wanted && !confined.contains(target)) waiting.insert(target);
  }
  return waiting;
}

std::set<Target> absent_units(const NodeState& state) {
  std::set<Target> absent;
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<Target> target = workload.grant.cpu ? group_target(workload.spec) : std::nullopt;
    if (target && is_absent_unit(state, *target)) absent.insert(*target);
  }
  return absent;
}

cpuset::Setting cpu_setting_of(const NodeState& state) {
  cpuset::Setting wanted{.limited = confinement_of(state), .restored = {}, .pinned = state.baselines.pinned};
  std::erase_if(wanted.limited, [&state](const auto& entry) { return is_gone(state, entry.first); });
  const CpuSet granted = granted_cpus(state);
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<CpuSet> allowed = allowed_beside(state, workload, granted);
    if (!allowed || allowed->empty() || is_enforced_by_runtime(workload)) continue;
    for (const Target& target : targets_of(workload)) {
      if (!is_gone(state, target)) wanted.limited[target] = *allowed;
    }
  }
  const std::set<Target> waiting = waiting_targets(state);
  for (const auto& [target, before] : state.baselines.cpu_sets) {
    if (wanted.limited.contains(target) || waiting.contains(target) || is_gone(state, target)) continue;
    wanted.restored[target] = before;
  }
  return wanted;
}

cpuset::PoolUse pool_use_of(const NodeState& state) {
  cpuset::PoolUse use{.pooled = pooled_cpus(state.config->cpu_pools),
                      .is_confined = state.config->confinement != Confinement::None,
                      .unbalanced = state.facts.rdt.isolated | state.facts.cpuset.nohz_full};
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (pool.kind == CpuPool::Kind::Exclusive) use.exclusive |= pool.cpus;
  }
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.cpu) continue;
    use.holders[id_text(workload)] = {.cpus = workload.grant.cpu->exclusive, .targets = targets_of(workload)};
  }
  return use;
}

namespace {

// Its exclusive CPUs are in no pool, or in another one, since the configuration was changed while nrd was stopped.
std::string stray_problem(const NodeState& state, const Workload& workload) {
  for (const CpuGrant& grant : cpu_grants_of(workload)) {
    const CpuPool* pool = pool_of(state, grant);
    const bool is_exclusive = pool && pool->kind == CpuPool::Kind::Exclusive;
    const CpuSet outside = (grant.exclusive | grant.idle_siblings) - (is_exclusive ? pool->cpus : CpuSet());
    if (outside.empty()) continue;
    return fmt::format(
        "CPU {} of workload {} is outside its pool {}; configure the pool as before, or delete the workload",
        outside.to_string(), id_text(workload), grant.pool);
  }
  return {};
}

// Why tasks of `workload` do not have the CPUs of `grant`; empty: they have.
std::string problem_of(const NodeState& state, const Workload& workload, const CpuGrant& grant, const CpuSet& granted) {
  if (!allowed_beside(state, grant, granted).empty()) return {};
  const CpuPool* pool = pool_of(state, grant);
  if (grant.exclusive.empty() && !pool) {
    return fmt::format(
        "workload {} is in CPU pool {}, which is not configured any more; configure it as before, or delete the "
        "workload",
        id_text(workload), grant.pool);
  }
  const bool has_others = !allowed_beside(state, workload, granted)->empty();
  return fmt::format("all CPUs of workload {}{} are offline, so its tasks run on {}; bring one of {} online",
                     id_text(workload), has_others ? " in pool " + grant.pool : std::string(),
                     has_others ? "its other CPUs" : "CPUs of others",
                     (grant.exclusive.empty() ? pool->cpus : grant.exclusive).to_string());
}

}  // namespace

std::string cpu_problem(const NodeState& state) {
  const CpuSet granted = granted_cpus(state);
  for (const auto& [id, workload] : state.workloads) {
    if (std::string stray = stray_problem(state, workload); !stray.empty()) return stray;
    if (const CpuSet absent = cpus_of(workload) - state.facts.rdt.possible; !absent.empty()) {
      return fmt::format(
          "CPU {} of workload {} does not exist on this node any more; boot as before, or change or delete the "
          "workload",
          absent.to_string(), id_text(workload));
    }
    for (const CpuGrant& grant : cpu_grants_of(workload)) {
      if (std::string problem = problem_of(state, workload, grant, granted); !problem.empty()) return problem;
    }
  }
  return {};
}

bool has_its_cpus(const NodeState& state, const Workload& workload) {
  const std::optional<CpuSet> allowed = allowed_cpus(state, workload);
  if (!allowed) return true;
  // The runtime writes before it starts the first process.
  if (is_enforced_by_runtime(workload) && processes_of(state, workload.spec).empty()) return true;
  if (allowed->empty()) return false;
  return std::ranges::all_of(targets_of(workload), [&](const Target& target) {
    if (is_gone(state, target)) return true;
    const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, target);
    return masks && masks->is_exactly(*allowed) && !cpuset::overlapping_part(masks->inner, *allowed);
  });
}

}  // namespace nrd
