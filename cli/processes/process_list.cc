#include "cli/processes/process_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/find_in.h"
#include "base/joined.h"
#include "base/json/reader.h"
#include "base/split.h"

namespace nrd::cli {
namespace {

using json::Value;

constexpr size_t kMostProcesses = 64;  // of a container
constexpr size_t kMostArguments = 1024;
constexpr uint32_t kMostCpus = 1'000'000;  // thousandths of a CPU

Failure refused(const std::string& at, std::string problem, std::string allowed) {
  return fail_at(ErrorCode::BadRequest, at, fmt::format("{}: {}; expected {}", at, problem, allowed));
}

Result<std::string> required_text(const Value& object, const std::string& at, const char* key) {
  const Value* value = object.find(key);
  const std::string where = at + "/" + key;
  if (!value) return refused(where, "is missing", "a text");
  if (!value->as_string() || value->as_string()->empty()) return refused(where, "is no text", "a text");
  return *value->as_string();
}

Result<void> check_keys(const Value& object, const std::string& at, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return refused(at, "is no object", "an object");
  for (const auto& [key, value] : object.members()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return refused(at + "/" + key, "unknown member", joined(known, ", "));
  }
  return {};
}

Result<const std::vector<Value>*> list_of(const Value& object, const std::string& at, const char* key, size_t most) {
  const Value* value = object.find(key);
  const std::string where = at + "/" + key;
  const std::string expected = fmt::format("a list of at most {}", most);
  if (!value || value->kind() != Value::Kind::Array || value->items().size() > most)
    return refused(where, value ? "is no such list" : "is missing", expected);
  return &value->items();
}

Result<ListedProcess> parse_process(const Value& object, const std::string& at) {
  TRY(check_keys(object, at, {"process", "args", "pool", "cpus"}));
  ListedProcess process;
  process.command = {TRY(required_text(object, at, "process"))};
  process.pool = TRY(required_text(object, at, "pool"));
  if (object.find("args")) {
    for (const Value& argument : *TRY(list_of(object, at, "args", kMostArguments))) {
      if (!argument.as_string()) return refused(at + "/args", "has an item that is no text", "texts");
      process.command.push_back(*argument.as_string());
    }
  }
  const Value* cpus = object.find("cpus");
  const auto number = cpus ? cpus->as_unsigned() : std::nullopt;
  if (!number || *number == 0 || *number > kMostCpus)
    return refused(at + "/cpus", cpus ? "is no such number" : "is missing",
                   "CPUs of an exclusive pool, or thousandths of a CPU of a shared one, a whole number above 0");
  process.cpus = static_cast<uint32_t>(*number);
  return process;
}

Result<std::vector<ListedProcess>> parse_container(const Value& object, const std::string& at) {
  std::vector<ListedProcess> processes;
  const std::vector<Value>& items = *TRY(list_of(object, at, "processes", kMostProcesses));
  if (items.empty()) return refused(at + "/processes", "is empty", "at least one process");
  for (size_t i = 0; i < items.size(); ++i)
    processes.push_back(TRY(parse_process(items[i], fmt::format("{}/processes/{}", at, i))));
  return processes;
}

bool is_shared_by_name(const std::string& pool) { return pool.starts_with("shared") || pool.starts_with("default"); }

const GrantedCpus::OfPool* find(const GrantedCpus& granted, const std::string& pool) {
  return first_with(granted.by_pool, &GrantedCpus::OfPool::pool, pool);
}

Result<CpuSet> cpus_in(const Environment& environment, const char* name) {
  const std::string list = value_in(environment, name);
  if (list.empty()) return CpuSet();
  return CpuSet::parse(list).map_error([&](Error error) {
    error.message = fmt::format("{}: {}", name, error.message);
    return error;
  });
}

// NRD_POOLS: "fast=4-5;common=8-9".
Result<GrantedCpus> cpus_by_pool(std::string_view text, const CpuSet& exclusive, const CpuSet& shared) {
  GrantedCpus granted;
  while (!text.empty()) {
    const std::string_view item = take_until(text, ';');
    std::string_view list = item;
    std::string pool(take_until(list, '='));
    const Result<CpuSet> cpus = CpuSet::parse(list);
    if (pool.empty() || !cpus || !cpus->intersects(exclusive | shared)) {
      return fail(
          ErrorCode::BadRequest,
          fmt::format("NRD_POOLS: \"{}\" is no pool with CPUs of EXCLUSIVE_CPUS or SHARED_CPUS; expected \"fast=4-5\"",
                      item));
    }
    granted.by_pool.push_back({std::move(pool), *cpus & exclusive, *cpus & shared});
  }
  return granted;
}

}  // namespace

Result<std::vector<ListedProcess>> parse_processes(const std::string& text, const std::string& container) {
  const Value list = TRY(json::parse(text));
  if (list.kind() != Value::Kind::Array) return refused("/", "is no list", "[{\"container\": …, \"processes\": […]}]");
  std::optional<std::vector<ListedProcess>> found;
  std::string names;
  for (size_t i = 0; i < list.items().size(); ++i) {
    const std::string at = fmt::format("/{}", i);
    const Value& object = list.items()[i];
    TRY(check_keys(object, at, {"container", "processes"}));
    const std::string name = TRY(required_text(object, at, "container"));
    std::vector<ListedProcess> processes = TRY(parse_container(object, at));
    names += (names.empty() ? "" : ", ") + name;
    if (!container.empty() && name != container) continue;
    if (found) return refused(at + "/container", "occurs a second time", "each container once, and its name");
    found = std::move(processes);
  }
  if (found) return *std::move(found);
  return refused("/", "has no container " + container, names.empty() ? "at least one container" : names);
}

Result<std::vector<CpuSet>> assign_cpus(const std::vector<ListedProcess>& processes, const GrantedCpus& granted) {
  std::vector<CpuSet> assigned;
  std::map<std::string, CpuSet> left;
  for (const GrantedCpus::OfPool& pool : granted.by_pool) left[pool.pool] = pool.exclusive;
  for (const ListedProcess& process : processes) {
    const GrantedCpus::OfPool* pool = find(granted, process.pool);
    if (!pool) return fail(ErrorCode::NotEnough, fmt::format("pool {}: there are no CPUs of it", process.pool));
    if (pool->exclusive.empty()) {
      assigned.push_back(pool->shared);
      continue;
    }
    const std::vector<CpuId> free = left[process.pool].members();
    if (free.size() < process.cpus) {
      return fail(ErrorCode::NotEnough,
                  fmt::format("{} needs {} CPUs of pool {}, and {} of {} are left", process.command.front(),
                              process.cpus, process.pool, free.size(), pool->exclusive.size()));
    }
    CpuSet& own = assigned.emplace_back();
    for (size_t i = 0; i < process.cpus; ++i) own.add(free[i]);
    left[process.pool] -= own;
  }
  return assigned;
}

std::vector<std::string> pool_requests(const std::vector<ListedProcess>& processes,
                                       const std::vector<std::string>& shared) {
  std::vector<std::pair<std::string, uint64_t>> sums;
  for (const ListedProcess& process : processes) {
    const auto found = std::ranges::find(sums, process.pool, [](const auto& sum) { return sum.first; });
    (found == sums.end() ? sums.emplace_back(process.pool, 0) : *found).second += process.cpus;
  }
  std::vector<std::string> requests;
  for (const auto& [pool, sum] : sums) {
    const bool is_shared = std::ranges::find(shared, pool) != shared.end();
    requests.push_back(fmt::format("{}={}{}", pool, sum, is_shared ? "m" : ""));
  }
  return requests;
}

Result<GrantedCpus> cpus_of_container(const Environment& environment, const std::vector<ListedProcess>& processes) {
  const CpuSet exclusive = TRY(cpus_in(environment, "EXCLUSIVE_CPUS"));
  const CpuSet shared = TRY(cpus_in(environment, "SHARED_CPUS"));
  if (const std::string pools = value_in(environment, "NRD_POOLS"); !pools.empty())
    return cpus_by_pool(pools, exclusive, shared);
  GrantedCpus granted;
  std::string name_of_exclusive;
  for (const ListedProcess& process : processes) {
    if (find(granted, process.pool)) continue;
    const bool is_shared = !shared.empty() && (exclusive.empty() || is_shared_by_name(process.pool));
    if (!is_shared && !name_of_exclusive.empty()) {
      return fail(ErrorCode::BadRequest,
                  fmt::format("EXCLUSIVE_CPUS does not say which CPUs are of pool {} and which of {}",
                              name_of_exclusive, process.pool));
    }
    if (!is_shared) name_of_exclusive = process.pool;
    granted.by_pool.push_back({process.pool, is_shared ? CpuSet() : exclusive, is_shared ? shared : CpuSet()});
  }
  return granted;
}

}  // namespace nrd::cli
