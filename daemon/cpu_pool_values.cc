#include "daemon/cpu_pool_values.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/number.h"

namespace nrd::daemon {
namespace {

using cpuset::Level;
using json::Value;

template <typename T, size_t N>
using Words = std::array<std::pair<const char*, T>, N>;

constexpr Words<CpuPool::Kind, 2> kKinds{{{"exclusive", CpuPool::Kind::Exclusive}, {"shared", CpuPool::Kind::Shared}}};
constexpr Words<CpuPool::Source, 2> kSources{
    {{"isolated", CpuPool::Source::Isolated}, {"rest", CpuPool::Source::Rest}}};
constexpr Words<CpuPool::Threads, 3> kThreads{
    {{"one", CpuPool::Threads::One}, {"all", CpuPool::Threads::All}, {"any", CpuPool::Threads::Any}}};
constexpr Words<CpuPool::Order, 2> kOrders{{{"pack", CpuPool::Order::Pack}, {"spread", CpuPool::Order::Spread}}};
constexpr Words<Level, 7> kLevels{{{"machine", Level::Machine},
                                   {"package", Level::Package},
                                   {"die", Level::Die},
                                   {"node", Level::Node},
                                   {"l3", Level::L3},
                                   {"l2", Level::L2},
                                   {"core", Level::Core}}};

template <typename T, size_t N>
Problem read_word(const Value& value, const Words<T, N>& words, T& target) {
  const std::string text = text_in(value);
  Problem expected = "expected";
  for (const auto& [word, meaning] : words) {
    if (word == text) {
      target = meaning;
      return {};
    }
    expected += std::string(word == words.front().first ? " \"" : ", \"") + word + "\"";
  }
  return expected;
}

template <typename T, size_t N>
std::string word_for(const T& value, const Words<T, N>& words) {
  return std::ranges::find(words, value, [](const auto& word) { return word.second; })->first;
}

// Of the names of systemd's units: a pool's name appears in URLs, metrics and messages.
Problem read_name(const Value& value, std::string& target) {
  constexpr size_t kLongest = 64;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const std::string name = text_in(value);
  if (name.empty() || name.size() > kLongest || name.find_first_not_of(kAllowed) != std::string::npos)
    return "expected 1 to 64 letters, digits, dots, hyphens or underscores";
  target = name;
  return {};
}

// The words' CPUs are known once the node is (resolve_cpu_pools()).
Problem read_cpus(const Value& value, CpuPool& pool) {
  const std::string text = text_in(value);
  const auto* const word = std::ranges::find(kSources, text, [](const auto& each) { return std::string(each.first); });
  if (word != kSources.end()) {
    pool.source = word->second;
    return {};
  }
  const Problem problem = cpu_list().parse(value, pool.cpus);
  if (problem.empty()) return pool.cpus.empty() ? "expected at least one CPU" : Problem();
  return problem + ", or \"isolated\", or \"rest\"";
}

// "!node": never cross it.
Problem read_within(const Value& value, CpuPool& pool) {
  const std::string text = text_in(value);
  pool.never_crosses = text.starts_with('!');
  return read_word(Value::string(text.substr(pool.never_crosses ? 1 : 0)), kLevels, pool.within);
}

// -1: unchanged.
Problem read_latency(const Value& value, CpuPool& pool) {
  constexpr uint32_t kMost = 1'000'000;
  pool.latency_us.reset();
  const std::string text = value.literal() ? *value.literal() : std::string();
  if (text == "-1") return {};
  const auto microseconds = parse_number<uint32_t>(text);
  if (!microseconds || *microseconds > kMost) return "expected -1 or microseconds, 0 to 1000000";
  pool.latency_us = *microseconds;
  return {};
}

struct Key {
  const char* name;
  Problem (*parse)(const Value&, CpuPool&);
};

constexpr std::array kKeys{
    Key{"name", [](const Value& value, CpuPool& pool) { return read_name(value, pool.name); }},
    Key{"cpus", read_cpus},
    Key{"kind", [](const Value& value, CpuPool& pool) { return read_word(value, kKinds, pool.kind); }},
    Key{"threads", [](const Value& value, CpuPool& pool) { return read_word(value, kThreads, pool.threads); }},
    Key{"order", [](const Value& value, CpuPool& pool) { return read_word(value, kOrders, pool.order); }},
    Key{"within", read_within},
    Key{"latency_us", read_latency},
    Key{"low_noise", [](const Value& value, CpuPool& pool) { return boolean().parse(value, pool.low_noise); }}};

Problem unknown(const std::string& key) {
  Problem problem = "unknown key " + key + "; allowed:";
  for (const Key& known : kKeys) problem += std::string(&known == kKeys.data() ? " " : ", ") + known.name;
  return problem;
}

Problem read_pool(const Value& table, CpuPool& pool) {
  for (const auto& [key, value] : table.members()) {
    const auto* const known =
        std::ranges::find(kKeys, key, [](const Key& each) { return std::string_view(each.name); });
    if (known == kKeys.end()) return unknown(key);
    const Problem problem = known->parse(value, pool);
    if (!problem.empty()) return key + ": " + problem;
  }
  for (const char* required : {"name", "cpus", "kind"}) {
    if (!table.find(required)) return std::string(required) + " is missing";
  }
  const bool has_effect = !pool.latency_us || pool.kind == CpuPool::Kind::Exclusive;
  return has_effect ? Problem()
                    : "latency_us: only CPUs of a pool of the kind exclusive are granted, so it has no effect";
}

Problem check_beside(const CpuPools& pools, const CpuPool& pool) {
  for (const CpuPool& other : pools) {
    if (other.name == pool.name) return "name: another pool is named " + pool.name;
    if (pool.source == CpuPool::Source::Rest && other.source == CpuPool::Source::Rest)
      return "cpus: pool " + other.name + " has the rest already";
    const CpuSet both = other.cpus & pool.cpus;
    if (!both.empty()) return "cpus: CPU " + both.to_string() + " is also in pool " + other.name;
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
    if (!problem.empty()) return pool.name.empty() ? problem : "pool " + pool.name + ": " + problem;
    found.push_back(std::move(pool));
  }
  target = std::move(found);
  return {};
}

std::string cpus_of(const CpuPool& pool) {
  return pool.source == CpuPool::Source::List ? pool.cpus.to_string() : word_for(pool.source, kSources);
}

Value shown(const CpuPool& pool) {
  return Value::object({{"name", Value::string(pool.name)},
                        {"cpus", Value::string(cpus_of(pool))},
                        {"kind", Value::string(word_for(pool.kind, kKinds))},
                        {"threads", Value::string(word_for(pool.threads, kThreads))},
                        {"order", Value::string(word_for(pool.order, kOrders))},
                        {"within", Value::string((pool.never_crosses ? "!" : "") + word_for(pool.within, kLevels))},
                        {"latency_us", Value::number(pool.latency_us ? std::to_string(*pool.latency_us) : "-1")},
                        {"low_noise", Value::boolean(pool.low_noise)}});
}

}  // namespace

ValueType<CpuPools> cpu_pools() {
  return {.parse = read_pools, .show = [](const CpuPools& pools) {
            std::vector<Value> items;
            for (const CpuPool& pool : pools) items.push_back(shown(pool));
            return Value::array(std::move(items));
          }};
}

}  // namespace nrd::daemon
