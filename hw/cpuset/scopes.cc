#include "hw/cpuset/scopes.h"

#include <string>
#include <thread>

#include "hw/cpuset/affinity.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/controller.h"

namespace nrd::cpuset {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string cgroup_of_scope(const Target& scope) { return std::string("/") + kSlice + "/" + scope.name; }

// nullopt: the process has ended.
Result<std::optional<bool>> is_inside(const Target& scope) {
  if (TRY(threads_of(scope.task)).empty()) return std::nullopt;
  const std::optional<std::string> cgroup = TRY(cgroup_of(scope.task.process));
  if (!cgroup) return std::nullopt;
  return *cgroup == cgroup_of_scope(scope);
}

Result<void> check_effective(const Target& scope, const CpuSet& wanted) {
  const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup_of_scope(scope)));
  if (!effective || *effective == wanted) return {};  // none: it has ended
  return fail(ErrorCode::Hardware, scope.name + " runs on CPU " + effective->to_string() + ", not on " +
                                       wanted.to_string() + "; check AllowedCPUs= of nrd.slice");
}

}  // namespace

Result<std::optional<Masks>> Scopes::masks_of(const Target& scope) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside) return std::nullopt;
  if (!*inside) return cpuset::masks_of(scope.task);
  const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup_of_scope(scope)));
  if (!effective) return std::nullopt;
  return Masks{.cpus = *effective};
}

Result<void> Scopes::move(const Target& scope, const CpuSet& cpus, Deadline deadline) {
  TRY(enable_controller(units_, kRootSlice, deadline));
  TRY(units_.start_scope(scope.name, scope.task.process, cpus, deadline));
  while (TRY(is_inside(scope)) == false) {
    if (steady_clock::now() > deadline)
      return fail(ErrorCode::Busy, "systemd does not answer; try again", scope.name + ": its process has not moved");
    std::this_thread::sleep_for(milliseconds(1));
  }
  return {};
}

Result<void> Scopes::limit(const Target& scope, const CpuSet& cpus, Deadline deadline) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside) return {};
  if (!*inside) {
    TRY(move(scope, cpus, deadline));
  } else {
    const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup_of_scope(scope)));
    if (effective && *effective != cpus) {
      const KeptMasks masks = TRY(KeptMasks::of(cgroup_of_scope(scope), *effective));
      TRY(units_.set_allowed_cpus(scope.name, cpus, deadline));
      masks.restore_within(cpus);
    }
  }
  return check_effective(scope, cpus);
}

Result<void> Scopes::release(const Target& scope, const Masks& before, Deadline deadline) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside) return {};
  if (*inside) {
    TRY(units_.clear_allowed_cpus(scope.name, TRY(effective_cpus("/")).value_or(CpuSet()), deadline));
  }
  return apply(scope.task, before);
}

}  // namespace nrd::cpuset
