#include "engine/model/workload_document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

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
         grant.has_class() == spec.asks_for_ways() && (!spec.cache || spec.cache->min <= spec.cache->max) &&
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
      return fail(ErrorCode::BadRequest, "CPU " + std::to_string(cpu.value) + " occurs twice");
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
              "workload " + std::to_string(row.id.value) + ": " + error.field + " " + error.message);
}

}  // namespace nrd
