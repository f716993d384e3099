#include "hw/cpuset/scopes.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "base/file.h"
#include "hw/cpuset/affinity.h"
#include "hw/cpuset/cgroup.h"

namespace nrd::cpuset {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string cgroup_of_scope(const Target& scope) { return std::string("/") + kSlice + "/" + scope.name; }

// Before Linux 6.2 a change of a cpuset overwrites the affinity of its tasks.
bool overwrites_affinity() {
  utsname name{};
  if (::uname(&name) != 0) return true;
  char* rest = nullptr;
  const long major = std::strtol(name.release, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return major < 6 || (major == 6 && minor < 2);
}

Result<CpuSet> possible_cpus() {
  const std::optional<std::string> list = TRY(read_one_line("/sys/devices/system/cpu/possible"));
  return CpuSet::parse(trimmed(list.value_or("")));
}

bool has_isolated_cpus() {
  const Result<std::optional<std::string>> isolated = read_one_line("/sys/devices/system/cpu/isolated");
  return isolated && *isolated && !trimmed(**isolated).empty();
}

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

std::string Scopes::why_not() {
  if (std::string reason = why_no_cpusets(); !reason.empty()) return reason;
  // There the kernel would let every service run on the isolated CPUs (docs/cpus.md).
  if (!is_cpuset_enabled() && overwrites_affinity() && has_isolated_cpus())
    return "this kernel, before 6.2, would give up isolcpus=";
  return units_.why_not();
}

Result<std::optional<Masks>> Scopes::masks_of(const Target& scope) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside) return std::nullopt;
  if (!*inside) return cpuset::masks_of(scope.task);
  const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup_of_scope(scope)));
  if (!effective) return std::nullopt;
  return Masks{.cpus = *effective};
}

Result<void> Scopes::move(const Target& scope, const CpuSet& cpus, Deadline deadline) {
  std::optional<PinnedThreads> pinned;
  if (!is_cpuset_enabled()) {
    if (overwrites_affinity()) pinned = TRY(PinnedThreads::find());
    // systemd would disable the controller after the last scope, and then such a kernel overwrites the masks again.
    TRY(units_.set_allowed_cpus(kSlice, TRY(possible_cpus()), deadline));
  }
  TRY(units_.start_scope(scope.name, scope.task.process, cpus, deadline));
  while (TRY(is_inside(scope)) == false) {
    if (steady_clock::now() > deadline)
      return fail(ErrorCode::Busy, "systemd does not answer; try again", scope.name + ": its process has not moved");
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (pinned) pinned->restore(scope.task.process);
  return {};
}

Result<void> Scopes::limit(const Target& scope, const CpuSet& cpus, Deadline deadline) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside) return {};
  if (!*inside) {
    TRY(move(scope, cpus, deadline));
  } else {
    const std::optional<CpuSet> effective = TRY(effective_cpus(cgroup_of_scope(scope)));
    if (effective != cpus) TRY(units_.set_allowed_cpus(scope.name, cpus, deadline));
  }
  return check_effective(scope, cpus);
}

Result<void> Scopes::release(const Target& scope, const Masks& before, Deadline deadline) {
  const std::optional<bool> inside = TRY(is_inside(scope));
  if (!inside) return {};
  if (*inside) {
    const CpuSet all = TRY(effective_cpus("/")).value_or(CpuSet());
    TRY(units_.set_allowed_cpus(scope.name, all, deadline));
    TRY(units_.set_allowed_cpus(scope.name, {}, deadline));
  }
  return apply(scope.task, before);
}

}  // namespace nrd::cpuset
