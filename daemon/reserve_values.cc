#include "daemon/reserve_values.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/config.h"
#include "daemon/config_values.h"
#include "daemon/cpu_pool_values.h"

namespace nrd::daemon {
namespace {

using json::Value;
using Pools = decltype(Reserve::pools);

Problem read_reserved_cpus(const Value& value, Reserve::Cpus& target) {
  constexpr const char* kExpected =
      "expected a list of CPUs in quotes, such as \"4-7\", of an exclusive pool, or a number of CPUs of a shared one";
  if (const std::string* list = value.as_string()) {
    const Result<CpuSet> cpus = CpuSet::parse(*list);
    if (!cpus || cpus->empty()) return kExpected;
    target.listed = *cpus;
    return {};
  }
  const auto count = value.as_unsigned();
  if (!count || *count == 0 || *count > CpuSet::kMaxCpus) return kExpected;
  target.of_share = static_cast<uint32_t>(*count);
  return {};
}

Problem read_reserved_pools(const Value& value, Pools& target) {
  if (!value.is_object() || value.members().size() > kMostPools) return "expected {fast = \"4-7\", common = 2}";
  std::map<std::string, Reserve::Cpus> found;
  for (const auto& [name, cpus] : value.members()) {
    if (const Problem problem = read_reserved_cpus(cpus, found[name]); !problem.empty())
      return fmt::format("{}: {}", name, problem);
  }
  target = std::move(found);
  return {};
}

Value shown(const Reserve::Cpus& cpus) {
  return cpus.of_share > 0 ? number(cpus.of_share) : Value::string(cpus.listed.to_string());
}

Value shown_reserved_pools(const Pools& pools) {
  if (!pools) return Value::null();
  std::vector<json::Member> members;
  for (const auto& [name, cpus] : *pools) members.push_back({name, shown(cpus)});
  return Value::object(std::move(members));
}

const std::vector<TableKey<Reserve>>& reserve_keys() {
  static const std::vector<TableKey<Reserve>> kKeys{
      table_key("ways", optional_count(0, WayMask::kMaxWays), &Reserve::ways),
      table_key("onload", optional_count(0, kMostAllocations), &Reserve::onload),
      table_key("pools", {read_reserved_pools, shown_reserved_pools}, &Reserve::pools)};
  return kKeys;
}

Problem read_reserve(const Value& value, std::optional<Reserve>& target) {
  if (!value.is_object()) return "expected {ways = 5, onload = 50, pools = {fast = \"4-7\", common = 2}}";
  Reserve found;
  if (const Problem problem = read_table(value, reserve_keys(), found); !problem.empty()) return problem;
  target = std::move(found);
  return {};
}

}  // namespace

ValueType<std::optional<Reserve>> reserve() {
  return {.parse = read_reserve, .show = [](const std::optional<Reserve>& value) {
            return value ? show_table(*value, reserve_keys()) : Value::null();
          }};
}

}  // namespace nrd::daemon
