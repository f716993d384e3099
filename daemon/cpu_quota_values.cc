#include "daemon/cpu_quota_values.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "daemon/accounts.h"
#include "daemon/cpu_pool_values.h"
#include "engine/model/cpu_pools.h"

namespace nrd::daemon {
namespace {

using json::Value;

constexpr const char* kKey = "cpu.quotas";
constexpr size_t kMostQuotas = 1024;
constexpr const char* kExpectedQuotas =
    "expected a section of at most 1024 users and groups, such as \"@quant\" = {pools = [\"fast\"], count = 8}";

Problem read_quota_pools(const Value& value, std::set<std::string>& target) {
  constexpr const char* kNames = "expected a list of at most 64 names of pools";
  if (value.kind() != Value::Kind::Array || value.items().size() > kMostPools) return kNames;
  for (const Value& item : value.items()) {
    if (!item.as_string()) return kNames;
    if (!target.insert(*item.as_string()).second) return *item.as_string() + " is listed twice";
  }
  return {};
}

Value shown_quota_pools(const std::set<std::string>& pools) { return array_of(pools, Value::string); }

const std::vector<TableKey<CpuQuota>>& quota_keys() {
  static const std::vector<TableKey<CpuQuota>> kKeys{
      table_key("pools", {read_quota_pools, shown_quota_pools}, &CpuQuota::pools).required(),
      table_key("count", count(CpuSet::kMaxCpus), &CpuQuota::count).required()};
  return kKeys;
}

Problem read_quota(const Value& table, CpuQuota& quota) {
  return table.is_object() ? read_table(table, quota_keys(), quota) : "expected {pools = [\"fast\"], count = 8}";
}

Problem read_quotas(const Value& value, std::optional<NamedCpuQuotas>& target) {
  if (!value.is_object() || value.members().size() > kMostQuotas) return kExpectedQuotas;
  NamedCpuQuotas found;
  for (const auto& [name, table] : value.members()) {
    if (name.empty() || name == "@") return kExpectedQuotas;
    const Problem problem = read_quota(table, found[name]);
    if (!problem.empty()) return fmt::format("{}: {}", name, problem);
  }
  target = std::move(found);
  return {};
}

Failure refused(const std::string& problem) {
  return fail_at(ErrorCode::BadRequest, kKey, fmt::format("{}: {}", kKey, problem));
}

template <typename Id>
void add(std::map<Id, CpuQuota>& quotas, Id id, const CpuQuota& quota) {
  const auto [present, is_new] = quotas.emplace(id, quota);
  if (!is_new) present->second = combined(present->second, quota);  // two names of one account
}

Result<void> resolve(const std::string& name, const CpuQuota& quota, CpuQuotas& resolved) {
  const std::optional<id_t> found = TRY(find_account(name, kKey));
  if (!found) {
    log::notice("ACCOUNT_NOT_FOUND", "unknown user or group in cpu.quotas; ignored", {{"NAME", name}});
  } else if (name.starts_with('@')) {
    add(resolved.groups, gid_t{*found}, quota);
  } else {
    add(resolved.users, uid_t{*found}, quota);
    resolved.names.emplace(*found, name);
  }
  return {};
}

}  // namespace

ValueType<std::optional<NamedCpuQuotas>> cpu_quotas() {
  return {.parse = read_quotas, .show = [](const std::optional<NamedCpuQuotas>& quotas) {
            if (!quotas) return Value::null();
            std::vector<json::Member> members;
            for (const auto& [name, quota] : *quotas) members.push_back({name, show_table(quota, quota_keys())});
            return Value::object(std::move(members));
          }};
}

Result<void> check_quotas(const std::optional<NamedCpuQuotas>& quotas, const CpuPools& pools) {
  if (!quotas) return {};
  for (const auto& [name, quota] : *quotas) {
    for (const std::string& pool : quota.pools) {
      if (!find_pool(pools, pool)) return refused(fmt::format("{}: there is no pool {} in cpu.pools", name, pool));
    }
  }
  return {};
}

Result<std::optional<CpuQuotas>> resolve_quotas(const std::optional<NamedCpuQuotas>& quotas) {
  if (!quotas) return std::nullopt;
  CpuQuotas resolved;
  for (const auto& [name, quota] : *quotas) TRY(resolve(name, quota, resolved));
  return resolved;
}

}  // namespace nrd::daemon
