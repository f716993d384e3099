#include "engine/plan/cpu_quota.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/plan/cpus/placement.h"

namespace nrd::plan {
namespace {

// CPUs of pools that `workload` alone uses.
size_t number_of(const CpuSet& pooled, const Workload& workload) {
  return workload.grant.cpu ? workload.grant.cpu->exclusive.size() : (workload.spec.cpus & pooled).size();
}

size_t number_of(const NodeState& state, const Workload* workload) {
  return workload ? number_of(pooled_cpus(state.config->cpu_pools), *workload) : 0;
}

// In all workloads that count for the user.
size_t total_of(const NodeState& state, uid_t uid) {
  const CpuSet pooled = pooled_cpus(state.config->cpu_pools);
  size_t total = 0;
  for (const auto& [id, workload] : state.workloads) {
    if (workload.spec.quota_uid == uid) total += number_of(pooled, workload);
  }
  return total;
}

std::string names_of(const std::set<std::string>& pools) {
  return pools.empty() ? "CPUs outside of pools" : joined(pools, ", ");
}

Failure forbidden(const char* field, std::string message, std::string allowed) {
  return fail_at(ErrorCode::Forbidden, field, std::move(message), std::move(allowed));
}

}  // namespace

Result<CpuQuota> CpuQuotaCheck::quota(const char* field) const {
  if (const std::optional<CpuQuota> found = quota_of(*state_.config->cpu_quotas, *user_)) return *found;
  return forbidden(field, name_of(*state_.config->cpu_quotas, *user_) + " has no quota of CPUs of pools (cpu.quotas)",
                   "CPUs outside of pools");
}

Result<void> CpuQuotaCheck::check(const CpuPool& pool, size_t others, const CpuRequest& request, size_t cpus) const {
  if (!user_ || !state_.config->cpu_quotas) return {};
  const bool takes_more = others + cpus > number_of(state_, before_);
  const bool keeps_pool = before_ && std::ranges::any_of(cpu_grants_of(*before_), [&pool](const CpuGrant& grant) {
                            return grant.pool == pool.name;
                          });
  if (keeps_pool && !takes_more) return {};
  const CpuQuota permitted = TRY(quota("/cpu/pool"));
  if (!permitted.pools.contains(pool.name)) {
    return forbidden(
        "/cpu/pool",
        fmt::format("{} may not take CPUs of pool {}", name_of(*state_.config->cpu_quotas, *user_), pool.name),
        names_of(permitted.pools));
  }
  return check_number(permitted, others, number_field(request), cpus);
}

Result<void> CpuQuotaCheck::check_core_ids(const CpuSet& cpus) const {
  if (!user_ || !state_.config->cpu_quotas) return {};
  const CpuSet taken = cpus & pooled_cpus(state_.config->cpu_pools);
  const CpuSet added = before_ ? taken - cpus_of(*before_) : taken;
  if (added.empty()) return {};
  constexpr const char* kCoreIds = "/core_ids";
  const CpuQuota permitted = TRY(quota(kCoreIds));
  for (const CpuPool& pool : state_.config->cpu_pools) {
    if (!pool.cpus.intersects(added) || permitted.pools.contains(pool.name)) continue;
    return forbidden(kCoreIds,
                     fmt::format("CPU {} is in pool {}, of which {} may not take CPUs", (added & pool.cpus).to_string(),
                                 pool.name, name_of(*state_.config->cpu_quotas, *user_)),
                     names_of(permitted.pools));
  }
  return check_number(permitted, 0, kCoreIds, taken.size());
}

// "alice has 6 of 8 CPUs of pools; 3 more were requested"
Result<void> CpuQuotaCheck::check_number(const CpuQuota& quota, size_t others, const char* field, size_t cpus) const {
  const size_t present = number_of(state_, before_);
  const size_t wanted = others + cpus;
  if (wanted <= present) return {};
  const size_t total = total_of(state_, user_->uid);
  const size_t own = before_ && before_->spec.quota_uid == user_->uid ? present : 0;
  const size_t kept = total - own;  // by other workloads
  if (kept + wanted <= quota.count) return {};
  const size_t more = wanted - own;
  const size_t most = quota.count > kept + others ? quota.count - kept - others : 0;
  return forbidden(
      field,
      fmt::format("{} has {} of {} CPUs of pools; {} more {} requested", name_of(*state_.config->cpu_quotas, *user_),
                  total, quota.count, more, more == 1 ? "was" : "were"),
      most > 0     ? fmt::format("at most {}{}", most, most == 1 ? " CPU" : " CPUs")
      : others > 0 ? "none beside those of the other pools"
                   : "none until one of its workloads ends");
}

bool takes_cpus(const NodeState& state, const Workload& workload) {
  const Workload* before = find_in(state.workloads, workload.id);
  return !before || number_of(state, &workload) > number_of(state, before);
}

}  // namespace nrd::plan
