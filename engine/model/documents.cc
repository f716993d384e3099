#include "engine/model/documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/find_in.h"
#include "engine/model/baselines.h"
#include "engine/model/core_ids.h"
#include "engine/model/workload_fields.h"

namespace nrd {
namespace {

// Every CPU twice, in the request and in the grant, and each task with its members.
constexpr size_t kMaxDocumentNodes = 1 << 20;

// What the types of the members alone do not rule out.
bool is_consistent(const Spec& spec, const Grant& grant) {
  const auto is_window = [](const auto& entry) { return entry.second.min <= entry.second.max; };
  const auto is_task = [](const Task& task) { return task.id > 0 && task.process > 0; };
  return (!spec.core_ids.empty() || !spec.tasks.empty() || spec.cpu || spec.has_group()) &&
         (spec.cpu ? grant.cpu.has_value() : !grant.cpu || !spec.core_ids.empty()) &&
         grant.cpu_by_pool.size() == (spec.further_cpus.empty() ? 0 : 1 + spec.further_cpus.size()) &&
         (!grant.has_class() || spec.asks_for_ways()) && (!spec.cache || spec.cache->min <= spec.cache->max) &&
         (!spec.l2 || spec.l2->code < spec.l2->ways) && (!spec.mba || spec.mba->value > 0) &&
         (!spec.owner || spec.owner->pid > 0) && std::ranges::all_of(spec.tasks, is_task) &&
         std::ranges::all_of(grant.frequencies, is_window);
}

Result<Workload> read(const store::WorkloadRow& row) {
  Workload workload = TRY(json::from_json<Workload>(row.document, kMaxDocumentNodes));
  workload.id = row.id;
  workload.origin = row.origin;
  workload.revision = row.revision;
  workload.spec.uuid = row.uuid;
  workload.spec.given_id = row.given_id;
  workload.spec.cpus = TRY(parse_core_ids(workload.spec.core_ids));
  if (is_consistent(workload.spec, workload.grant)) return workload;
  return fail(ErrorCode::Store, "its members contradict each other");
}

}  // namespace

Result<BranchMissThreshold> json::Codec<BranchMissThreshold>::read(const Value& value) {
  const std::string* found = value.as_string() ? value.as_string() : value.literal();
  const std::string_view text = found ? *found : std::string_view();
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(percent);
  if (is_number && percent > 0) return BranchMissThreshold{percent};
  return fail(ErrorCode::BadRequest, "must be a number above 0");
}

Result<json::Codec<std::map<CpuId, pstate::FrequencySetting>>::Settings>
json::Codec<std::map<CpuId, pstate::FrequencySetting>>::read(const Value& value) {
  const Groups groups = TRY(json::read<Groups>(value));
  Settings settings;
  for (const auto& [cpus, setting] : groups) {
    for (const CpuId cpu : cpus.members()) {
      if (settings.emplace(cpu, setting).second) continue;
      return fail(ErrorCode::BadRequest, fmt::format("CPU {} occurs twice", cpu.value));
    }
  }
  return settings;
}

void json::Codec<std::map<CpuId, pstate::FrequencySetting>>::write(Writer& writer, const Settings& settings) {
  Groups groups;
  for (const auto& [cpu, setting] : settings) {
    const auto same = std::ranges::find(groups, setting, &Groups::value_type::second);
    (same == groups.end() ? groups.emplace_back(CpuSet(), setting) : *same).first.add(cpu);
  }
  json::write(writer, groups);
}

store::WorkloadRow to_row(const Workload& workload) {
  return {.id = workload.id,
          .uuid = workload.spec.uuid,
          .given_id = workload.spec.given_id,
          .revision = workload.revision,
          .origin = workload.origin,
          .document = json::to_json(workload)};
}

Result<Workload> from_row(const store::WorkloadRow& row) {
  Result<Workload> workload = read(row);
  if (workload) return workload;
  const Error& error = workload.error();
  return fail(ErrorCode::Store, "the store contains an invalid workload; restore a backup",
              fmt::format("workload {}: {} {}", row.id.value, error.field, error.message));
}

template <>
inline constexpr auto json::kFields<FrequencyClaim> = std::tuple_cat(
    kFields<pstate::FrequencySetting>, std::tuple(Field("driver", &FrequencyClaim::driver).or_default()));
template <>
inline constexpr auto json::kFields<TaskClaim> = std::tuple(Field("task", &TaskClaim::task),
                                                            Field("clos", &TaskClaim::clos));

template <>
inline constexpr auto json::kNames<cpuset::Target::Kind> = std::array{
    std::pair{cpuset::Target::Kind::Task, "task"},   std::pair{cpuset::Target::Kind::Scope, "scope"},
    std::pair{cpuset::Target::Kind::Unit, "unit"},   std::pair{cpuset::Target::Kind::Cgroup, "cgroup"},
    std::pair{cpuset::Target::Kind::Slice, "slice"}, std::pair{cpuset::Target::Kind::Partition, "partition"}};
template <>
inline constexpr auto json::kFields<cpuset::Target> = std::tuple(Field("kind", &cpuset::Target::kind),
                                                                 Field("name", &cpuset::Target::name).or_default(),
                                                                 Field("task", &cpuset::Target::task).or_default());
template <>
inline constexpr auto json::kFields<cpuset::Pinned> = std::tuple(Field("thread", &cpuset::Pinned::thread),
                                                                 Field("cpus", &cpuset::Pinned::cpus));
template <>
inline constexpr auto json::kFields<cpuset::Masks> = std::tuple(
    Field("cpus", &cpuset::Masks::cpus), Field("exceptions", &cpuset::Masks::exceptions).or_default(),
    Field("own", &cpuset::Masks::own).or_default(), Field("partition", &cpuset::Masks::partition).or_default(),
    Field("pinned", &cpuset::Masks::pinned).or_default());

template <>
inline constexpr auto json::kFields<cpuset::Share> =
    std::tuple(Field("weight", &cpuset::Share::weight).or_default(),
               Field("quota_us", &cpuset::Share::quota_us).or_default(), Field("period_us", &cpuset::Share::period_us));

template <>
inline constexpr auto json::kNames<cpuset::NoiseSource::Kind> =
    std::array{std::pair{cpuset::NoiseSource::Kind::Interrupt, "interrupt"},
               std::pair{cpuset::NoiseSource::Kind::NewInterrupts, "new_interrupts"},
               std::pair{cpuset::NoiseSource::Kind::Workqueues, "workqueues"},
               std::pair{cpuset::NoiseSource::Kind::Watchdog, "watchdog"}};
template <>
inline constexpr auto json::kFields<cpuset::NoiseSource> =
    std::tuple(Field("kind", &cpuset::NoiseSource::kind), Field("number", &cpuset::NoiseSource::number).or_default());
template <>
inline constexpr auto json::kFields<NoiseClaim> = std::tuple(Field("before", &NoiseClaim::before),
                                                             Field("written", &NoiseClaim::written));

namespace {

// Each map is a kind of document; its key is the document's key.
constexpr auto kKinds =
    std::tuple(json::Field("ways", &Baselines::ways), json::Field("cpu", &Baselines::cpus),
               json::Field("frequency", &Baselines::frequencies),
               json::Field("external_frequency", &Baselines::frequencies_of_others),
               json::Field("group", &Baselines::groups), json::Field("task", &Baselines::tasks),
               json::Field("cpu_set", &Baselines::cpu_sets), json::Field("cpu_share", &Baselines::cpu_shares),
               json::Field("memory", &Baselines::memory), json::Field("latency", &Baselines::latency),
               json::Field("noise", &Baselines::noise), json::Field("pinned", &Baselines::pinned));

constexpr const char* kNothing = "{}";  // the document of a member of a set

// One map, whatever its shape; of a set, to nothing.
template <typename Key, typename T>
const std::map<Key, T>& flat(const std::map<Key, T>& map) {
  return map;
}
template <typename Key, typename T>
const std::map<Key, T>& flat(const SharedMap<Key, T>& map) {
  return map.get();
}
template <typename First, typename Second, typename T>
std::map<std::pair<First, Second>, T> flat(const std::map<First, std::map<Second, T>>& nested) {
  std::map<std::pair<First, Second>, T> map;
  for (const auto& [first, inner] : nested) {
    for (const auto& [second, value] : inner) map.emplace(std::pair(first, second), value);
  }
  return map;
}
template <typename Key>
std::map<Key, std::nullptr_t> flat(const std::set<Key>& set) {
  std::map<Key, std::nullptr_t> map;
  for (const Key& key : set) map.emplace(key, nullptr);
  return map;
}

template <typename Key, typename T>
Result<void> add(std::map<Key, T>& map, const std::string& key, const std::string& json) {
  const Key read = TRY(json::from_json<Key>(key));
  map[read] = TRY(json::from_json<T>(json));
  return {};
}
template <typename First, typename Second, typename T>
Result<void> add(std::map<First, std::map<Second, T>>& nested, const std::string& key, const std::string& json) {
  const auto [first, second] = TRY(json::from_json<std::pair<First, Second>>(key));
  nested[first][second] = TRY(json::from_json<T>(json));
  return {};
}
template <typename Key>
Result<void> add(std::set<Key>& set, const std::string& key, const std::string&) {
  set.insert(TRY(json::from_json<Key>(key)));
  return {};
}

template <typename Map>
Result<void> read_kind(Map& map, const std::string& kind, const std::vector<store::Document>& documents) {
  for (const auto& [id, json] : documents) {
    if (id.kind != kind) continue;
    if (const Result<void> added = add(map, id.key, json); !added) {
      return fail(ErrorCode::Store, "the store contains an invalid baseline; restore a backup",
                  fmt::format("{} {}: {} {}", id.kind, id.key, added.error().field, added.error().message));
    }
  }
  return {};
}
template <typename Key, typename T>
Result<void> read_kind(SharedMap<Key, T>& map, const std::string& kind, const std::vector<store::Document>& documents) {
  std::map<Key, T> filled;
  TRY(read_kind(filled, kind, documents));
  map = std::move(filled);
  return {};
}

template <typename T>
std::string document_of(const T& value) {
  return json::to_json(value);
}
std::string document_of(std::nullptr_t) { return kNothing; }

template <typename Key, typename T>
void add_changes(store::DocumentChange& change, const char* kind, const std::map<Key, T>& before,
                 const std::map<Key, T>& after) {
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) change.removed.push_back({kind, json::to_json(key)});
  }
  for (const auto& [key, value] : after) {
    const T* old = find_in(before, key);
    if (!old || *old != value) change.put.push_back({{kind, json::to_json(key)}, document_of(value)});
  }
}

}  // namespace

Result<Baselines> baselines_of(const std::vector<store::Document>& documents) {
  Baselines baselines;
  Result<void> done;
  const auto fill = [&](const auto& kind) {
    done = read_kind(baselines.*kind.member, kind.name, documents);
    return done.has_value();
  };
  std::apply([&](const auto&... kind) { (... && fill(kind)); }, kKinds);
  if (!done) return Failure(done.error());
  return baselines;
}

store::DocumentChange changes_between(const Baselines& before, const Baselines& after) {
  store::DocumentChange change;
  const auto compare = [&](const auto& kind) {
    if (before.*kind.member != after.*kind.member)
      add_changes(change, kind.name, flat(before.*kind.member), flat(after.*kind.member));
  };
  std::apply([&](const auto&... kind) { (compare(kind), ...); }, kKinds);
  return change;
}

}  // namespace nrd
