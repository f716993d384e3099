#include "hw/cpuset/scopes.h"

#include <fmt/core.h>

#include <string>
#include <thread>

#include "hw/cpuset/affinity.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/controller.h"
#include "hw/cpuset/kernel_facts.h"

namespace nrd::cpuset {

std::string cgroup_of_scope(const Target& scope) { return std::string("/") + kSlice + "/" + scope.name; }

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// nullopt: the process has ended. It may have made cgroups of its own below.
Result<std::optional<bool>> is_inside(const Target& scope) {
  if (TRY(threads_of(scope.task)).empty()) return std::nullopt;
  const std::optional<std::string> cgroup = TRY(cgroup_of(scope.task.process));
  if (!cgroup) return std::nullopt;
  return is_within(*cgroup, cgroup_of_scope(scope));
}

// Where a process outside its scope may run by its own choice: everywhere, if it has what its cgroup has. It leaves
// that cgroup, which may be one that nrd has confined.
Result<std::optional<Masks>> own_masks(const Task& task) {
  std::optional<Masks> masks = TRY(masks_of(task));
  const std::optional<std::string> cgroup = TRY(cgroup_of(task.process));
  if (!masks || !cgroup) return masks;
  const std::optional<CpuSet> available = effective_cpus(*cgroup).value_or(std::nullopt);
  if (masks->cpus == available && available != online_cpus()) masks->cpus = TRY(possible_cpus());
  return masks;
}

Result<void> move(Units& units, const Target& scope, const CpuSet& cpus, const MemoryNodes& nodes, Deadline deadline) {
  if (const std::string why = why_not_enabled(); !why.empty())
    return fail(ErrorCode::Unsupported, fmt::format("the CPUs of {} cannot be limited: {}", scope.name, why));
  TRY(enable_controller(units, kSlice, deadline));
  const Result<void> started = units.start_scope(scope.name, scope.task.process, cpus, nodes, deadline);
  if (!started) {
    if (started.error().code != ErrorCode::Busy) return started;
    // Where the process is decides whether systemd has done what it has not confirmed.
    const std::optional<bool> inside = TRY(is_inside(scope));
    if (inside != true) return started;
  }
  while (TRY(is_inside(scope)) == false) {
    if (steady_clock::now() > deadline)
      return fail(ErrorCode::Busy, "systemd does not answer; try again", scope.name + ": its process has not moved");
    std::this_thread::sleep_for(milliseconds(1));
  }
  return {};
}

}  // namespace

Result<std::optional<Masks>> masks_of_scope(const Target& scope) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (inside == false) return own_masks(scope.task);
  // What the process has started may outlive it there.
  if (!inside && !is_populated(cgroup_of_scope(scope))) return std::nullopt;
  const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup_of_scope(scope)));
  if (!effective) return std::nullopt;
  return Masks{.cpus = *effective, .inner = inner_cpus(cgroup_of_scope(scope))};
}

Result<void> limit_scope(Units& units, const Target& scope, const CpuSet& cpus, const MemoryNodes& nodes,
                         Deadline deadline) {
  const std::string cgroup = cgroup_of_scope(scope);
  const std::optional<bool> inside = TRY(is_inside(scope));
  const bool is_there = is_populated(cgroup);
  if (!is_there) {
    if (inside != false) return {};
    TRY(move(units, scope, cpus, nodes, deadline));
    return check_effective(scope.name, cgroup, cpus);
  }
  const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup));
  if (effective && *effective != cpus) {
    const PinnedThreads masks = TRY(kept_masks(cgroup, *effective));
    const Result<void> set = units.set_allowed_cpus(scope.name, cpus, deadline);
    masks.restore_within(cpus);
    if (!set && !is_done_unconfirmed(set, cgroup, cpus)) return set;
    TRY(check_inner(cgroup, cpus));
  }
  TRY(check_effective(scope.name, cgroup, cpus));
  // It has left for another cgroup, while others are still in the scope.
  return inside == false ? apply(scope.task, {.cpus = cpus}) : Result<void>();
}

// A request to start the scope may still have been in systemd's queue: its answer to this one comes after that.
Result<void> release_scope(Units& units, const Target& scope, const Masks& before, Deadline deadline) {
  const std::string cgroup = cgroup_of_scope(scope);
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside && !is_populated(cgroup)) return {};
  if (TRY(units.find(scope.name, deadline))) {
    const CpuSet all = TRY(effective_cpus("/")).value_or(CpuSet());
    const Result<void> cleared = units.clear_allowed_cpus(scope.name, all, deadline);
    if (!cleared && !is_done_unconfirmed(cleared, cgroup, all)) return cleared;
  }
  return inside ? restore(scope.task, before) : Result<void>();
}

}  // namespace nrd::cpuset
