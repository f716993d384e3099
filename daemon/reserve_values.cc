#include "daemon/reserve_values.h"

#include <string>
#include <utility>
#include <vector>

#include "daemon/config.h"
#include "daemon/config_values.h"
#include "daemon/cpu_pool_values.h"

namespace nrd::daemon {
namespace {

using json::Value;

Problem read_count(const Value& value, unsigned most, std::optional<unsigned>& target) {
  const auto count = value.as_unsigned();
  if (!count || *count > most) return "expected a whole number from 0 to " + std::to_string(most);
  target = static_cast<unsigned>(*count);
  return {};
}

Problem read_cpus(const Value& value, Reserve::Cpus& target) {
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

Problem read_pools(const Value& value, std::optional<std::map<std::string, Reserve::Cpus>>& target) {
  if (!value.is_object() || value.members().size() > kMostPools) return "expected {fast = \"4-7\", common = 2}";
  std::map<std::string, Reserve::Cpus> found;
  for (const auto& [name, cpus] : value.members()) {
    if (const Problem problem = read_cpus(cpus, found[name]); !problem.empty()) return name + ": " + problem;
  }
  target = std::move(found);
  return {};
}

Problem read_reserve(const Value& value, std::optional<Reserve>& target) {
  if (!value.is_object()) return "expected {ways = 5, onload = 50, pools = {fast = \"4-7\", common = 2}}";
  Reserve found;
  for (const auto& [key, member] : value.members()) {
    Problem problem = "unknown key " + key + "; allowed: ways, onload, pools";
    if (key == "ways") problem = read_count(member, WayMask::kMaxWays, found.ways);
    if (key == "onload") problem = read_count(member, kMostAllocations, found.onload);
    if (key == "pools") problem = read_pools(member, found.pools);
    if (!problem.empty()) return problem.starts_with("unknown") ? problem : key + ": " + problem;
  }
  target = std::move(found);
  return {};
}

Value shown(const Reserve& reserve) {
  std::vector<json::Member> members;
  if (reserve.ways) members.push_back({"ways", number(*reserve.ways)});
  if (reserve.onload) members.push_back({"onload", number(*reserve.onload)});
  if (reserve.pools) {
    std::vector<json::Member> pools;
    for (const auto& [name, cpus] : *reserve.pools)
      pools.push_back({name, cpus.of_share > 0 ? number(cpus.of_share) : Value::string(cpus.listed.to_string())});
    members.push_back({"pools", Value::object(std::move(pools))});
  }
  return Value::object(std::move(members));
}

}  // namespace

ValueType<std::optional<Reserve>> reserve() {
  return {.parse = read_reserve,
          .show = [](const std::optional<Reserve>& value) { return value ? shown(*value) : Value::null(); }};
}

}  // namespace nrd::daemon
