#include "engine/model/cpu_quotas.h"

#include <algorithm>

namespace nrd {

CpuQuota combined(CpuQuota a, const CpuQuota& b) {
  a.pools.insert(b.pools.begin(), b.pools.end());
  a.count = std::max(a.count, b.count);
  return a;
}

std::optional<CpuQuota> quota_of(const CpuQuotas& quotas, const LocalUser& user) {
  if (const auto own = quotas.users.find(user.uid); own != quotas.users.end()) return own->second;
  std::optional<CpuQuota> quota;
  for (const gid_t group : user.groups) {
    const auto found = quotas.groups.find(group);
    if (found != quotas.groups.end()) quota = combined(quota.value_or(CpuQuota{}), found->second);
  }
  return quota;
}

std::string name_of(const CpuQuotas& quotas, const LocalUser& user) {
  const auto known = quotas.names.find(user.uid);
  return known == quotas.names.end() ? "uid " + std::to_string(user.uid) : known->second;
}

}  // namespace nrd
