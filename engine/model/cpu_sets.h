// Where tasks may run. Computed from the grants of CPUs, never stored: sets of shared CPUs shrink and grow back by
// themselves.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/task.h"
#include "engine/model/fwd.h"
#include "hw/cpuset/types.h"

namespace nrd {

// The pool that `grant` is of, if it is still configured.
const CpuPool* pool_of(const NodeState& state, const CpuGrant& grant);
// The online CPUs of `pool` that no workload except `self` has, neither as its own nor as an idle sibling.
CpuSet free_cpus_of(const NodeState& state, const CpuPool& pool, std::optional<WorkloadId> self = {});
// "workload 3 (feed), 7": those other than `self` that have some of `cpus`; empty: there is none.
std::string owners_of(const NodeState& state, const CpuSet& cpus, std::optional<WorkloadId> self = {});
// CPUs that workloads were granted from pools, with idle siblings. After a change of the configuration while nrd was
// stopped they may be in another pool, or in none.
CpuSet granted_cpus(const NodeState& state);
// The workloads, with idle siblings that came online for the first time after the grant.
Workloads with_late_siblings(const NodeState& state);
// The online CPUs where the tasks of `workload` may run; nullopt: it was granted no CPUs of a pool. Empty: all of them
// are offline or granted to others, or its shared pool is not configured any more.
std::optional<CpuSet> allowed_cpus(const NodeState& state, const Workload& workload);
// Those of one of its pools. Of a shared one, what no workload was granted.
CpuSet allowed_cpus(const NodeState& state, const CpuGrant& grant);
// True if `target`, as last observed, has ended.
bool is_gone(const NodeState& state, const cpuset::Target& target);
// The unit or cgroup that runs there; nullopt: tasks, or nothing.
std::optional<cpuset::Target> group_target(const Spec& spec);
// True if it is for tasks, a unit or a cgroup, whose processes are in its class; not for CPUs alone.
bool names_tasks(const Spec& spec);
// Its processes, as last observed.
std::set<Task> processes_of(const NodeState& state, const Spec& spec);
// What runs there: the unit, the cgroup or the tasks of the workload.
std::set<cpuset::Target> targets_of(const Workload& workload);
// "nrd-7.scope", of one that has a scope.
std::string name_of_scope(const Workload& workload);
// The targets of all workloads, also of those that are not limited, what confines the host, and those that nrd has to
// restore.
std::set<cpuset::Target> known_targets(const NodeState& state);
// What to observe of CPUs and targets.
cpuset::Query query_of(const NodeState& state);
// True if a target lacks an observation that the query requires, so has no value to restore, or is a unit that may be
// back.
bool has_unobserved(const NodeState& state);
// Targets whose CPUs are all offline. They stay as they are, with their baselines, until one of these is back.
std::set<cpuset::Target> waiting_targets(const NodeState& state);
// Units of workloads that systemd does not know at the moment. Once they are back, what nrd has set may still hold.
std::set<cpuset::Target> absent_units(const NodeState& state);
// The part of the setting about them.
cpuset::Setting cpu_setting_of(const NodeState& state);
// What the pools and workloads use, for a search of conflicts.
cpuset::PoolUse pool_use_of(const NodeState& state);
// Why tasks of a workload do not run on their CPUs: the pool is not configured any more or lost its CPUs, a CPU does
// not exist any more, or all its CPUs of a pool are offline; empty: they do.
std::string cpu_problem(const NodeState& state);
// True if each thread of `workload`, as last observed, runs where it may.
bool has_its_cpus(const NodeState& state, const Workload& workload);

}  // namespace nrd
