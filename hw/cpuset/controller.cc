#include "hw/cpuset/controller.h"

#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/file.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/kernel_facts.h"

namespace nrd::cpuset {
namespace {

// "/a.slice/a-b.slice" of "a-b.slice" (systemd.slice(5)).
std::string cgroup_of_slice(const std::string& slice) {
  std::string cgroup;
  for (size_t dash = slice.find('-', 1); slice != kRootSlice; dash = slice.find('-', dash + 1)) {
    if (dash == std::string::npos) return cgroup + "/" + slice;
    cgroup += "/" + slice.substr(0, dash) + ".slice";
  }
  return "/";
}

// An empty slice with AllowedCPUs= of all CPUs: systemd disables the controller where its last user has gone.
Result<void> keep_enabled(Units& units, const std::string& parent, Deadline deadline) {
  const std::string slice = parent == kRootSlice ? kSlice : parent.substr(0, parent.rfind(".slice")) + "-" + kSlice;
  TRY(units.set_allowed_cpus(slice, TRY(possible_cpus()), deadline));
  TRY(units.start(slice, deadline));
  // The kernel shows the controller before it has overwritten the masks.
  for (bool is_active = false; !is_active || !has_cpusets_below(cgroup_of_slice(parent));) {
    is_active = TRY(units.is_active(slice, deadline));
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::Busy, "systemd does not answer; try again", slice + " has no cpuset");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

bool has_isolated_cpus() { return !line_of("/sys/devices/system/cpu/isolated").empty(); }

}  // namespace

Result<CpuSet> possible_cpus() {
  const char* const path = "/sys/devices/system/cpu/possible";
  const std::optional<CpuSet> possible = TRY(read_cpu_list(path));
  if (possible) return *possible;
  return fail(ErrorCode::Hardware, "the kernel has no list of possible CPUs", path);
}

Result<CpuSet> cpus_of_slice(const std::string& slice) {
  std::string cgroup = cgroup_of_slice(slice);
  std::optional<CpuSet> cpus = TRY(effective_cpus(cgroup));
  while (!cpus && cgroup != "/") {
    cgroup = parent_of(cgroup);
    cpus = TRY(effective_cpus(cgroup));
  }
  return cpus.value_or(CpuSet());
}

bool overwrites_affinity() {
  utsname name{};
  if (::uname(&name) != 0) return true;
  char* rest = nullptr;
  const long major = std::strtol(name.release, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return major < 6 || (major == 6 && minor < 2);
}

// There the kernel would let every service run on the isolated CPUs (docs/cpus.md).
std::string why_not_enabled() {
  if (has_cpusets_below("/") || !overwrites_affinity() || !has_isolated_cpus()) return {};
  return "this kernel, before 6.2, would give up isolcpus=";
}

Result<void> enable_controller(Units& units, const std::string& slice, Deadline deadline) {
  std::optional<PinnedThreads> pinned;
  for (const std::string& parent : {std::string(kRootSlice), slice}) {
    const bool may_be_disabled = parent != kRootSlice && !overwrites_affinity();
    if (may_be_disabled || has_cpusets_below(cgroup_of_slice(parent))) continue;
    if (!pinned) pinned = TRY(kept_masks_of_host());
    if (const Result<void> enabled = keep_enabled(units, parent, deadline); !enabled) {
      pinned->restore();
      return enabled;
    }
  }
  if (pinned) pinned->restore();
  return {};
}

Result<PinnedThreads> kept_masks(const std::string& cgroup, const CpuSet& all) {
  if (cgroup.empty() || !overwrites_affinity()) return PinnedThreads();
  return PinnedThreads::find_in(cgroup, all);
}

Result<PinnedThreads> kept_masks_of_host() {
  if (!overwrites_affinity()) return PinnedThreads();
  return PinnedThreads::find_on_host();
}

}  // namespace nrd::cpuset
