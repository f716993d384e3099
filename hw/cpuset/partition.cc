#include "hw/cpuset/partition.h"

#include <fmt/core.h>

#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/controller.h"

namespace nrd::cpuset {
namespace {

const std::string kCgroup = std::string("/") + kSlice;
constexpr const char* kRoot = "root";
constexpr const char* kMember = "member";

Result<void> set(Units& units, const CpuSet& cpus, const std::string& kind, Deadline deadline) {
  const std::string before = TRY(partition_of(kCgroup)).value_or(kMember);
  // An invalid one becomes valid by way of a member only (update_prstate(), kernel/cgroup/cpuset.c).
  if (before != kMember && (before != kRoot || kind == kMember)) TRY(set_partition(kCgroup, kMember));
  const Result<void> written = units.set_allowed_cpus(kSlice, cpus, deadline);
  if (!written) {
    // The file decides whether systemd has done what it has not confirmed.
    const std::optional<CpuSet> own = TRY(own_cpus(kCgroup));
    if (written.error().code != ErrorCode::Busy || own != cpus) return written;
  }
  return kind == kMember || before == kind ? Result<void>() : set_partition(kCgroup, kind);
}

}  // namespace

Result<Masks> masks_of_partition() {
  const std::optional<std::string> kind = TRY(partition_of(kCgroup));
  const std::optional<CpuSet> cpus = TRY(effective_cpus(kind ? kCgroup : "/"));
  return Masks{.cpus = cpus.value_or(CpuSet()), .partition = kind.value_or(kMember)};
}

std::string kind_of_partition() { return partition_of(kCgroup).value_or(std::nullopt).value_or(kMember); }

Result<void> limit_partition(Units& units, const CpuSet& cpus, Deadline deadline) {
  const Masks before = TRY(masks_of_partition());
  if (before.partition != kRoot || before.cpus != cpus) {
    TRY(enable_controller(units, kRootSlice, deadline));
    // Where other software has enabled the controller, nothing has started the slice yet.
    if (!TRY(partition_of(kCgroup))) TRY(units.start(kSlice, deadline));
    const PinnedThreads pinned = TRY(kept_masks_of_host());
    const Result<void> done = set(units, cpus, kRoot, deadline);
    pinned.restore();
    TRY(done);
  }
  const Masks after = TRY(masks_of_partition());
  if (after.partition == kRoot && after.cpus == cpus) return {};
  return fail(ErrorCode::Hardware, fmt::format("{} with CPU {} is no partition: the kernel reports {} with CPU {}; "
                                               "remove these CPUs from AllowedCPUs= of other units at the top level",
                                               kSlice, cpus.to_string(), after.partition, after.cpus.to_string()));
}

// It stays, with all CPUs, so that the cpuset controller stays enabled.
Result<void> release_partition(Units& units, Deadline deadline) {
  if (!TRY(partition_of(kCgroup))) return {};
  const PinnedThreads pinned = TRY(kept_masks_of_host());
  const Result<void> done = set(units, TRY(possible_cpus()), kMember, deadline);
  pinned.restore();
  TRY(done);
  const Masks after = TRY(masks_of_partition());
  const CpuSet all = TRY(effective_cpus("/")).value_or(CpuSet());
  if (after.partition == kMember && after.cpus == all) return {};
  return fail(ErrorCode::Hardware, fmt::format("{} runs on CPU {}, not on {}, and its partition is {}", kSlice,
                                               after.cpus.to_string(), all.to_string(), after.partition));
}

}  // namespace nrd::cpuset
