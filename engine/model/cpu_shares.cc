#include "engine/model/cpu_shares.h"

#include <algorithm>

#include "base/find_in.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

using cpuset::Share;
using cpuset::Target;

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

uint64_t requested_milli(const Workload& workload, const CpuPool& pool) {
  uint64_t milli = 0;
  const std::vector<const CpuRequest*> requests = cpu_requests_of(workload.spec);
  const std::span<const CpuGrant> grants = cpu_grants_of(workload);
  for (size_t i = 0; i < std::min(requests.size(), grants.size()); ++i) {
    if (grants[i].pool == pool.name) milli += requests[i]->request_milli;
  }
  return milli;
}

uint64_t requested_milli(const NodeState& state, const CpuPool& pool) {
  uint64_t milli = 0;
  for (const auto& [id, workload] : state.workloads) milli += requested_milli(workload, pool);
  return milli;
}

// One cgroup has all its CPUs: exclusive ones count whole.
std::optional<Share> share_of(const Workload& workload) {
  uint32_t requested = 0, limit_milli = 0;
  bool is_limited = true;
  for (const CpuRequest* request : cpu_requests_of(workload.spec)) {
    requested += request->request_milli;
    limit_milli += request->limit_milli;
    if (request->request_milli > 0 && request->limit_milli == 0) is_limited = false;
  }
  if (requested == 0 || is_enforced_by_runtime(workload)) return std::nullopt;
  const auto whole = static_cast<uint32_t>(kThousandths * cpus_of(workload).size());
  Share share{.weight = weight_of(requested + whole)};
  if (is_limited) limit(share, limit_milli + whole);
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

std::map<Target, Share> shares_in_use(const NodeState& state) {
  std::map<Target, Share> shares;
  for (const auto& [id, workload] : state.workloads) {
    const std::optional<Share> share = share_of(workload);
    if (!share) continue;
    for (const Target& target : targets_of(workload)) {
      if (can_have_share(target) && !is_gone(state, target)) shares[target] = *share;
    }
  }
  return shares;
}

bool has_its_share(const NodeState& state, const Workload& workload) {
  const std::optional<Share> share = share_of(workload);
  if (!share) return true;
  return std::ranges::all_of(targets_of(workload), [&](const Target& target) {
    if (!can_have_share(target) || is_gone(state, target)) return true;
    const Share* found = find_in(state.observed.cpuset.shares, target);
    return found && *found == *share;
  });
}

}  // namespace nrd
