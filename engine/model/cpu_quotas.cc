#include "engine/model/cpu_quotas.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"

namespace nrd {

CpuQuota combined(CpuQuota a, const CpuQuota& b) {
  a.pools.insert(b.pools.begin(), b.pools.end());
  a.count = std::max(a.count, b.count);
  return a;
}

std::optional<CpuQuota> quota_of(const CpuQuotas& quotas, const LocalUser& user) {
  if (const CpuQuota* own = find_in(quotas.users, user.uid)) return *own;
  std::optional<CpuQuota> quota;
  for (const gid_t group : user.groups) {
    if (const CpuQuota* found = find_in(quotas.groups, group)) quota = combined(quota.value_or(CpuQuota{}), *found);
  }
  return quota;
}

std::string name_of(const CpuQuotas& quotas, const LocalUser& user) {
  const std::string* known = find_in(quotas.names, user.uid);
  return known ? *known : fmt::format("uid {}", user.uid);
}

}  // namespace nrd
