#include "daemon/cpu_pool_values.h"

#include <fmt/core.h>

#include <utility>

#include "base/ascii.h"
#include "base/number.h"
#include "engine/model/workload_fields.h"

namespace nrd::daemon {
namespace {

using json::Value;

constexpr const char* kComma = ", ";

ValueType<CpuPool::Source> source() {
  return one_of<CpuPool::Source>({{CpuPool::Source::Isolated, "isolated"}, {CpuPool::Source::Rest, "rest"}});
}

// Of the names of systemd's units: a pool's name appears in URLs, metrics and messages.
ValueType<std::string> pool_name() {
  return text_that("expected 1 to 64 letters, digits, dots, hyphens or underscores", [](const std::string& name) {
    constexpr size_t kLongest = 64;
    return is_word(name, "._-") && name.size() <= kLongest && name != "." && name != "..";
  });
}

// The words' CPUs are known once the node is (resolve_cpu_pools()).
Problem read_pool_cpus(const Value& value, CpuPool& pool) {
  if (source().parse(value, pool.source).empty()) return {};
  const Problem problem = cpu_list().parse(value, pool.cpus);
  if (problem.empty()) return pool.cpus.empty() ? "expected at least one CPU" : Problem();
  return problem + ", or \"isolated\", or \"rest\"";
}

// "!node": never cross it.
Problem read_within(const Value& value, CpuPool& pool) {
  const std::string text = text_in(value);
  pool.never_crosses = text.starts_with('!');
  return one_name<cpuset::Level>(kComma).parse(Value::string(text.substr(pool.never_crosses ? 1 : 0)), pool.within);
}

// -1: unchanged.
Problem read_latency(const Value& value, std::optional<uint32_t>& target) {
  constexpr uint32_t kMost = 1'000'000;
  target.reset();
  const std::string text = value.literal() ? *value.literal() : std::string();
  if (text == "-1") return {};
  const auto microseconds = parse_number<uint32_t>(text);
  if (!microseconds || *microseconds > kMost) return "expected -1 or microseconds, 0 to 1000000";
  target = *microseconds;
  return {};
}

Value shown_pool_cpus(const CpuPool& pool) {
  return pool.source == CpuPool::Source::List ? Value::string(pool.cpus.to_string()) : source().show(pool.source);
}

Value shown_within(const CpuPool& pool) {
  return Value::string((pool.never_crosses ? "!" : "") + std::string(json::name_of(pool.within)));
}

Value shown_latency(const std::optional<uint32_t>& limit) {
  return Value::number(limit ? std::to_string(*limit) : "-1");
}

const std::vector<TableKey<CpuPool>>& pool_keys() {
  static const std::vector<TableKey<CpuPool>> kKeys{
      table_key("name", pool_name(), &CpuPool::name).required(),
      TableKey<CpuPool>{"cpus", read_pool_cpus, shown_pool_cpus}.required(),
      table_key("kind", one_name<CpuPool::Kind>(kComma), &CpuPool::kind).required(),
      table_key("threads", one_name<CpuPool::Threads>(kComma), &CpuPool::threads),
      table_key("order", one_name<CpuPool::Order>(kComma), &CpuPool::order),
      {"within", read_within, shown_within},
      table_key("latency_us", {read_latency, shown_latency}, &CpuPool::latency_us),
      table_key("low_noise", boolean(), &CpuPool::low_noise)};
  return kKeys;
}

Problem read_pool(const Value& table, CpuPool& pool) {
  if (const Problem problem = read_table(table, pool_keys(), pool); !problem.empty()) return problem;
  const bool has_effect = !pool.latency_us || pool.kind == CpuPool::Kind::Exclusive;
  return has_effect ? Problem()
                    : "latency_us: only CPUs of a pool of the kind exclusive are granted, so it has no effect";
}

Problem check_beside(const CpuPools& pools, const CpuPool& pool) {
  for (const CpuPool& other : pools) {
    if (other.name == pool.name) return "name: another pool is named " + pool.name;
    if (pool.source == CpuPool::Source::Rest && other.source == CpuPool::Source::Rest)
      return fmt::format("cpus: pool {} has the rest already", other.name);
    const CpuSet both = other.cpus & pool.cpus;
    if (!both.empty()) return fmt::format("cpus: CPU {} is also in pool {}", both.to_string(), other.name);
  }
  return {};
}

Problem read_pools(const Value& value, CpuPools& target) {
  constexpr const char* kExpected = "expected at most 64 sections [[cpu.pools]]";
  if (value.kind() != Value::Kind::Array || value.items().size() > kMostPools) return kExpected;
  CpuPools found;
  for (const Value& item : value.items()) {
    if (!item.is_object()) return kExpected;
    CpuPool pool;
    Problem problem = read_pool(item, pool);
    if (problem.empty()) problem = check_beside(found, pool);
    if (!problem.empty()) return pool.name.empty() ? problem : fmt::format("pool {}: {}", pool.name, problem);
    found.push_back(std::move(pool));
  }
  target = std::move(found);
  return {};
}

}  // namespace

ValueType<CpuPools> cpu_pools() {
  return {.parse = read_pools, .show = [](const CpuPools& pools) {
            return array_of(pools, [](const CpuPool& pool) { return show_table(pool, pool_keys()); });
          }};
}

}  // namespace nrd::daemon
