#include "engine/plan/targets.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/find_in.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_state.h"
#include "engine/resolve.h"

namespace nrd::plan {
namespace {

constexpr const char* kTasksField = "/task_ids";

std::string number_of(const Task& task) { return std::to_string(task.id); }

// The same task, or a process and one of its threads.
bool overlap(const Task& a, const Task& b) {
  if (a.boot_id != b.boot_id) return false;
  if (a.is_process() && b.is_process()) return a.id == b.id && a.start == b.start;
  if (a.is_process()) return a.id == b.process;
  if (b.is_process()) return b.id == a.process;
  return a.id == b.id && a.start == b.start;
}

// Also a task of its unit or cgroup, unless the task itself is the client: then it moves to a scope.
bool has_task(const NodeState& state, const Spec& spec, const Task& task, bool runs_caller) {
  const auto is_it = [&](const Task& its) { return overlap(its, task) && !has_ended(state, its); };
  return std::ranges::any_of(spec.tasks, is_it) ||
         (!runs_caller && std::ranges::any_of(processes_of(state, spec), is_it));
}

Result<void> check_nobody_elses(const NodeState& state, const Spec& spec, const Task& task,
                                std::optional<WorkloadId> self) {
  for (const auto& [id, other] : state.workloads) {
    if (id == self || !has_task(state, other.spec, task, spec.runs_caller)) continue;
    return fail_at(ErrorCode::Conflict, kTasksField,
                   fmt::format("task {} belongs to workload {}", number_of(task), id_text(other)),
                   "tasks that no other workload has", fmt::format("{} {}", number_of(task), id_text(other)));
  }
  return {};
}

Result<void> check_not_infra(const NodeState& state, const Task& task) {
  const bool is_infra = std::ranges::any_of(
      state.infra_tasks, [&](const Task& its) { return overlap(its, task) && !has_ended(state, its); });
  if (!is_infra) return {};
  return fail_at(
      ErrorCode::Conflict, kTasksField,
      fmt::format("task {} belongs to the infrastructure, by the configuration (infra.processes)", number_of(task)),
      "tasks that no other workload or group has");
}

// Children of a workload's task are in its class too, without being claimed themselves.
bool is_class_of_ours(const NodeState& state, const std::string& group) {
  return std::ranges::any_of(state.workloads, [&group](const auto& entry) {
    const Grant& grant = entry.second.grant;
    return grant.has_class() && group == text_of(grant.clos);
  });
}

Result<void> check_place(const NodeState& state, const Task& task) {
  const auto* groups = find_in(state.observed.rdt.tasks, task);
  if (!groups) return {};
  for (const std::string& group : *groups) {
    if (group.empty() || is_class_of_ours(state, group)) continue;
    return fail_at(ErrorCode::Conflict, kTasksField,
                   fmt::format("task {} is in resctrl group {}, which nrd does not own", number_of(task), group),
                   "tasks of the root group; " + how_to_free(group));
  }
  return {};
}

bool has_already(const NodeState& state, std::optional<WorkloadId> self, const Task& task) {
  if (!self) return false;
  const auto& its = state.workloads.at(*self).spec.tasks;
  return std::ranges::find(its, task) != its.end();
}

}  // namespace

Result<void> check_tasks(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  if (spec.tasks.empty()) return {};
  if (!spec.asks_for_ways() && !spec.cpu) {
    return fail_at(ErrorCode::BadRequest, kTasksField, "task_ids requires a request for cache, l2 or cpu",
                   "cache, l2 or cpu together with task_ids");
  }
  if (spec.frequency && spec.cpus.empty() && !spec.cpu) {
    return fail_at(ErrorCode::BadRequest, "/pstate", "a frequency request requires CPUs", "core_ids or cpu");
  }
  for (const Task& task : spec.tasks) {
    if (has_already(state, self, task)) continue;
    if (has_ended(state, task)) return no_such_task(kTasksField, task.id);
    TRY(check_nobody_elses(state, spec, task, self));
    TRY(check_not_infra(state, task));
    TRY(check_place(state, task));
  }
  return {};
}

namespace {

using cpuset::Group;
using cpuset::Target;

bool is_unit(const Target& target) { return target.kind == Target::Kind::Unit; }
const char* field_of(const Target& target) { return is_unit(target) ? "/unit" : "/cgroup"; }

Failure refused(const Target& target, ErrorCode code, std::string message, std::string allowed) {
  return fail_at(code, field_of(target), std::move(message), std::move(allowed));
}

Result<void> check_request(const NodeState& state, const Workload& workload, const Target& target) {
  const Spec& spec = workload.spec;
  const cpuset::Node& node = state.facts.cpuset;
  if (!spec.unit.empty() && !spec.cgroup.empty())
    return fail_at(ErrorCode::BadRequest, "/cgroup", "cannot be combined with unit", "one of unit and cgroup");
  if (spec.unit == "init.scope")
    return refused(target, ErrorCode::BadRequest, "init.scope is systemd itself", "a service, or another scope");
  if (!spec.tasks.empty())
    return refused(target, ErrorCode::BadRequest, "cannot be combined with task_ids", "one of them");
  if (!spec.asks_for_ways() && !spec.cpu)
    return refused(target, ErrorCode::BadRequest, "requires a request for cache, l2 or cpu",
                   "cache, l2 or cpu beside it");
  if (spec.frequency && spec.cpus.empty() && !spec.cpu)
    return fail_at(ErrorCode::BadRequest, "/pstate", "a frequency request requires CPUs", "core_ids or cpu");
  if (is_unit(target) && !node.no_scopes.empty())
    return refused(target, ErrorCode::Unsupported, node.no_scopes, "task_ids");
  // Only its processes are looked for, which cgroups of version 1 have too.
  const bool is_limited = workload.grant.cpu && !is_enforced_by_runtime(workload);
  if (!is_unit(target) && is_limited && !node.no_cgroups.empty())
    return refused(target, ErrorCode::Unsupported, node.no_cgroups, "task_ids, or cpu with \"enforce\": \"runtime\"");
  return {};
}

Result<void> check_owner(const Spec& spec) {
  if (!spec.cgroup_owner || spec.has_group()) return {};
  return fail_at(ErrorCode::BadRequest, "/owner/cgroup", "requires a cgroup or a unit", "cgroup or unit beside it");
}

// Empty: a unit that does not run, or was not observed.
std::string cgroup_of(const NodeState& state, const Target& target) {
  if (!is_unit(target)) return target.name;
  const Group* group = find_in(state.observed.cpuset.groups, target);
  return group ? group->cgroup : std::string();
}

// True if one is the other, or below it.
bool overlap(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && (cpuset::is_within(a, b) || cpuset::is_within(b, a));
}

// Processes have one class of service and one set of CPUs.
Result<void> check_free(const NodeState& state, const Target& target, std::optional<WorkloadId> self) {
  const std::string cgroup = cgroup_of(state, target);
  for (const auto& [id, other] : state.workloads) {
    const std::optional<Target> taken = group_target(other.spec);
    if (id == self || !taken) continue;
    if (*taken != target && !overlap(cgroup, cgroup_of(state, *taken))) continue;
    const std::string name = target.name + (*taken == target ? "" : fmt::format(" ({})", taken->name));
    return refused(target, ErrorCode::Conflict, fmt::format("{} belongs to workload {}", name, id_text(other)),
                   "what no other workload has");
  }
  return {};
}

// A unit must not be requested again by an alias.
Result<void> check_name(const NodeState& state, const Target& target) {
  const Group* group = find_in(state.observed.cpuset.groups, target);
  if (!is_unit(target) || !group) return {};
  const std::string& name = group->unit;
  if (name.empty() || name == target.name) return {};
  return refused(target, ErrorCode::BadRequest, fmt::format("{} is an alias of {}", target.name, name), name);
}

Result<void> check_processes(const NodeState& state, const Group& group, const Target& target,
                             std::optional<WorkloadId> self) {
  if (group.processes.size() == cpuset::kMostProcesses) {
    return refused(target, ErrorCode::BadRequest, target.name + " has too many processes",
                   fmt::format("fewer than {}", cpuset::kMostProcesses));
  }
  for (const auto& [id, other] : state.workloads) {
    if (id == self) continue;
    const auto is_inside = [&group](const Task& task) {
      return std::ranges::any_of(group.processes, [&task](const Task& process) {
        return task.process == process.id && task.boot_id == process.boot_id;
      });
    };
    const auto found = std::ranges::find_if(other.spec.tasks, is_inside);
    if (found == other.spec.tasks.end()) continue;
    return refused(target, ErrorCode::Conflict,
                   fmt::format("task {} of it belongs to workload {}", found->id, id_text(other)),
                   "what no other workload has");
  }
  return {};
}

// Cgroups below it may be limited to some of the CPUs, but not to these and others.
Result<void> check_inner(const NodeState& state, const Target& target, const CpuSet& wanted) {
  const auto* part = cpuset::overlapping_part(state.observed.cpuset.targets.at(target).inner, wanted);
  if (!part) return {};
  const std::string list = wanted.to_string();
  return refused(target, ErrorCode::Conflict,
                 fmt::format("{} below it has cpuset.cpus {}, so that it would run on CPU {}, not on {}", part->first,
                             part->second.to_string(), (part->second & wanted).to_string(), list),
                 fmt::format("CPUs of {} in cpuset.cpus of {}, or all of them", list, part->first));
}

// Its cpuset can be set by nrd, and has the CPUs.
Result<void> check_cpuset(const NodeState& state, const Workload& workload, const Group& group, const Target& target) {
  if (!group.managed_by.empty()) {
    return refused(target, ErrorCode::Conflict,
                   fmt::format("{} is managed by systemd, which would overwrite its CPUs: it is of {}", target.name,
                               group.managed_by),
                   fmt::format("\"unit\": \"{}\", or a cgroup below a unit with Delegate=", group.managed_by));
  }
  if (!group.has_controller) {
    return refused(target, ErrorCode::Conflict, target.name + " has no cpuset",
                   "a cgroup whose parent has cpuset in cgroup.subtree_control");
  }
  if (!group.has_shares && share_of(workload)) {
    return refused(target, ErrorCode::Conflict, target.name + " has no cpu.weight",
                   "a cgroup whose parent has cpu in cgroup.subtree_control, or no request_milli");
  }
  const CpuSet wanted = allowed_cpus(state, workload).value_or(CpuSet());
  const CpuSet outside = wanted - group.available;
  if (outside.empty()) return check_inner(state, target, wanted);
  return refused(
      target, ErrorCode::Conflict,
      fmt::format("{} is in {} ({}), which has no CPU {}", target.name, group.parent, group.available.to_string(),
                  outside.to_string()),
      is_unit(target)
          ? fmt::format("a unit in nrd.slice: nrdctl export unit {} prints a drop-in that starts it there", target.name)
          : "a cgroup above it with more CPUs, or a pool within these CPUs");
}

// Of tasks, before anything is written: the kernel would ignore the CPUs that their cgroup lacks.
Result<void> check_cgroups(const NodeState& state, const Workload& workload) {
  const CpuSet wanted = allowed_cpus(state, workload).value_or(CpuSet());
  for (const Target& target : targets_of(workload)) {
    const Group* group = find_in(state.observed.cpuset.groups, target);
    if (target.kind != Target::Kind::Task || !group) continue;
    if (is_gone(state, target) || wanted.is_subset_of(group->available)) continue;
    return fail_at(ErrorCode::Conflict, "/task_ids",
                   fmt::format("task {} cannot run on CPU {}: its cgroup {} has CPU {}", target.task.id,
                               wanted.to_string(), group->parent, group->available.to_string()),
                   "a command started by nrdctl run, or a service in nrd.slice (nrdctl export unit)");
  }
  return {};
}

}  // namespace

Result<void> check_group(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self) {
  TRY(check_owner(workload.spec));
  const std::optional<Target> target = group_target(workload.spec);
  if (!target) return check_cgroups(state, workload);
  TRY(check_request(state, workload, *target));
  const bool is_known = self && group_target(state.workloads.at(*self).spec) == target;
  if (!is_known) TRY(check_name(state, *target));
  TRY(check_free(state, *target, self));
  const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, *target);
  if (!masks) return {};
  if (masks->cpus.empty()) {
    const bool may_come = is_enforced_by_runtime(workload) || (workload.spec.cgroup_owner && !is_unit(*target));
    if (is_known || may_come) return {};
    return refused(*target, ErrorCode::BadRequest, "there is no " + target->name,
                   is_unit(*target) ? "a service or scope that systemd knows" : "a cgroup below /sys/fs/cgroup");
  }
  const Group* group = find_in(state.observed.cpuset.groups, *target);
  if (!group) return {};
  TRY(check_processes(state, *group, *target, self));
  if (!workload.grant.cpu || is_enforced_by_runtime(workload)) return {};
  return check_cpuset(state, workload, *group, *target);
}

uint64_t used_time(const NodeState& state, const Spec& spec) {
  const std::optional<Target> target = group_target(spec);
  const Group* group = target ? find_in(state.observed.cpuset.groups, *target) : nullptr;
  return group ? group->usage_us : 0;
}

}  // namespace nrd::plan
