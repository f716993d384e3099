#include "engine/model/cpu_shares.h"

#include <algorithm>

#include "engine/model/cpu_sets.h"

namespace nrd {
namespace {

using cpuset::Share;
using cpuset::Target;

constexpr uint32_t kThousandths = 1000;

// cpu.max; the kernel demands a quota of 1 ms.
void limit(Share& share, uint32_t milli) {
  constexpr uint32_t kLeastInDefaultPeriod = 10;
  if (milli < kLeastInDefaultPeriod) share.period_us = cpuset::kMicroseconds;
  share.quota_us = milli * share.period_us / kThousandths;
}

bool can_have_share(const Target& target) { return target.kind != Target::Kind::Task; }

}  // namespace

uint32_t weight_of(uint32_t milli) {
  constexpr uint64_t kSharesOfCpu = 1024, kLeastShares = 2, kMostShares = 262'144, kMostWeight = 10'000;
  const uint64_t shares = std::clamp(milli * kSharesOfCpu / kThousandths, kLeastShares, kMostShares);
  return static_cast<uint32_t>(1 + (shares - kLeastShares) * (kMostWeight - 1) / (kMostShares - kLeastShares));
}

uint64_t milli_of(const Share& share) { return share.quota_us * kThousandths / share.period_us; }

uint64_t requested_milli(const NodeState& state, const CpuPool& pool, std::optional<WorkloadId> self) {
  uint64_t milli = 0;
  for (const auto& [id, workload] : state.workloads) {
    if (id != self && workload.grant.cpu && workload.grant.cpu->pool == pool.name)
      milli += workload.spec.cpu->request_milli;
  }
  return milli;
}

std::optional<Share> share_of(const Workload& workload) {
  const std::optional<CpuRequest>& request = workload.spec.cpu;
  if (!request || request->request_milli == 0 || is_enforced_by_runtime(workload)) return std::nullopt;
  Share share{.weight = weight_of(request->request_milli)};
  if (request->limit_milli > 0) limit(share, request->limit_milli);
  return share;
}

std::set<Target> targets_with_share(const NodeState& state) {
  std::set<Target> targets;
  for (const auto& [id, workload] : state.workloads) {
    if (share_of(workload)) targets.merge(targets_of(workload));
  }
  for (const auto& [target, before] : state.baselines.cpu_shares) targets.insert(target);
  std::erase_if(targets, [](const Target& target) { return !can_have_share(target); });
  return targets;
}

bool has_unobserved_shares(const NodeState& state) {
  return std::ranges::any_of(targets_with_share(state), [&state](const Target& target) {
    return !state.observed.cpuset.shares.contains(target) && !is_gone(state, target);
  });
}

void add_shares(cpuset::Setting& wanted, const NodeState& state) {
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<Share> share = share_of(workload);
    if (!share) continue;
    for (const Target& target : targets_of(workload)) {
      if (can_have_share(target) && !is_gone(state, target)) wanted.shares[target] = *share;
    }
  }
  for (const auto& [target, before] : state.baselines.cpu_shares) {
    if (!wanted.shares.contains(target) && !is_gone(state, target)) wanted.restored_shares[target] = before;
  }
}

bool has_its_share(const NodeState& state, const Workload& workload) {
  const std::optional<Share> share = share_of(workload);
  if (!share) return true;
  return std::ranges::all_of(targets_of(workload), [&](const Target& target) {
    if (!can_have_share(target) || is_gone(state, target)) return true;
    const auto found = state.observed.cpuset.shares.find(target);
    return found != state.observed.cpuset.shares.end() && found->second == *share;
  });
}

}  // namespace nrd
