#include "engine/model/workload.h"

#include <array>
#include <utility>

#include "engine/model/cpu_list_expression.h"

namespace nrd {
namespace {

constexpr const char* kRatio = "ratio";
constexpr const char* kMhz = "mhz";
constexpr const char* kPercentage = "percentage";
constexpr const char* kMbps = "mbps";

constexpr std::array kUnits{std::pair{rdt::MbaUnit::Percent, "percent"}, std::pair{rdt::MbaUnit::Mbps, "mbps"},
                            std::pair{rdt::MbaUnit::EighthsOfGbps, "eighths_of_gbps"}};

store::FrequencyRequestRecord to_record(const FrequencyRequest& request) {
  return {.unit = request.unit == FrequencyRequest::Unit::Ratio ? kRatio : kMhz,
          .min = request.min,
          .max = request.max,
          .governor = request.governor,
          .epp = request.epp,
          .turbo = request.turbo,
          .allows_shared_domain = request.shared_domain == FrequencyRequest::SharedDomain::Allow,
          .threshold = request.threshold ? std::optional(request.threshold->percent) : std::nullopt,
          .is_monitored = request.is_monitored};
}

std::optional<FrequencyRequest> from_record(const store::FrequencyRequestRecord& record) {
  if (record.unit != kRatio && record.unit != kMhz) return std::nullopt;
  return FrequencyRequest{
      .unit = record.unit == kRatio ? FrequencyRequest::Unit::Ratio : FrequencyRequest::Unit::Mhz,
      .min = record.min,
      .max = record.max,
      .governor = record.governor,
      .epp = record.epp,
      .turbo = record.turbo,
      .shared_domain =
          record.allows_shared_domain ? FrequencyRequest::SharedDomain::Allow : FrequencyRequest::SharedDomain::Refuse,
      .threshold = record.threshold ? std::optional(BranchMissThreshold{*record.threshold}) : std::nullopt,
      .is_monitored = record.is_monitored};
}

}  // namespace

std::vector<store::FrequencyRecord> to_records(const std::map<CpuId, pstate::FrequencySetting>& frequencies) {
  std::vector<store::FrequencyRecord> records;
  for (const auto& [cpu, knobs] : frequencies)
    records.push_back({cpu, knobs.min, knobs.max, knobs.governor, knobs.epp});
  return records;
}

std::map<CpuId, pstate::FrequencySetting> frequencies_of(const std::vector<store::FrequencyRecord>& records) {
  std::map<CpuId, pstate::FrequencySetting> frequencies;
  for (const auto& [cpu, min, max, governor, epp] : records) frequencies[cpu] = {min, max, governor, epp};
  return frequencies;
}

std::vector<store::BandwidthRecord> to_records(const std::map<CacheId, rdt::Bandwidth>& bandwidth) {
  std::vector<store::BandwidthRecord> records;
  for (const auto& [cache, limit] : bandwidth) {
    for (const auto& [unit, word] : kUnits) {
      if (unit == limit.unit) records.push_back({.cache = cache, .unit = word, .value = limit.value});
    }
  }
  return records;
}

std::map<CacheId, rdt::Bandwidth> bandwidth_of(const std::vector<store::BandwidthRecord>& records) {
  std::map<CacheId, rdt::Bandwidth> bandwidth;
  for (const store::BandwidthRecord& record : records) {
    for (const auto& [unit, word] : kUnits) {
      if (record.unit == word) bandwidth[record.cache] = {.unit = unit, .value = record.value};
    }
  }
  return bandwidth;
}

// Code has the lowest ways: best effort grows and shrinks at its upper end.
std::optional<rdt::Split> split_of(const Workload& workload, CacheId cache) {
  const auto granted = workload.grant.ways.find(cache);
  const uint32_t ways = cache.is_secondary_l2 ? workload.spec.l2.value_or(L2Request{}).code
                                              : workload.spec.cache.value_or(CacheRequest{}).code;
  if (granted == workload.grant.ways.end() || ways == 0) return std::nullopt;
  const WayMask code = WayMask::run(granted->second.lowest(), ways);
  return rdt::Split{.code = code, .data = granted->second - code};
}

std::string id_text(const Workload& workload) {
  return workload.spec.given_id.empty() ? std::to_string(workload.id.value) : workload.spec.given_id;
}

const char* to_string(Pool pool) {
  switch (pool) {
    case Pool::None: return "none";
    case Pool::Guarantee: return "guarantee";
    case Pool::BestEffort: return "besteffort";
    case Pool::Shared: return "shared";
  }
  return "";
}

std::optional<Pool> parse_pool(std::string_view name) {
  for (const Pool pool : {Pool::None, Pool::Guarantee, Pool::BestEffort, Pool::Shared}) {
    if (name == to_string(pool)) return pool;
  }
  return std::nullopt;
}

store::WorkloadRecord to_record(const Workload& workload) {
  const Spec& spec = workload.spec;
  const CacheRequest cache = spec.cache.value_or(CacheRequest{});
  const L2Request l2 = spec.l2.value_or(L2Request{});
  return {.id = workload.id,
          .uuid = spec.uuid,
          .given_id = spec.given_id,
          .revision = workload.revision,
          .origin = workload.origin,
          .core_ids = spec.core_ids,
          .policy = spec.policy,
          .max_ways = cache.max,
          .min_ways = cache.min,
          .code_ways = cache.code,
          .l2_ways = l2.ways,
          .l2_code_ways = l2.code,
          .pool = to_string(workload.grant.pool),
          .clos = workload.grant.clos,
          .ways = workload.grant.ways,
          .frequency = spec.frequency ? std::optional(to_record(*spec.frequency)) : std::nullopt,
          .frequencies = to_records(workload.grant.frequencies),
          .owner = spec.owner,
          .onload = spec.onload,
          .mba_unit = !spec.mba                                        ? ""
                      : spec.mba->unit == MbaRequest::Unit::Percentage ? kPercentage
                                                                       : kMbps,
          .mba_value = spec.mba ? spec.mba->value : 0,
          .bandwidth = to_records(workload.grant.bandwidth),
          .tasks = spec.tasks,
          .task_cpus = spec.task_cpus.to_string(),
          .created = workload.created,
          .updated = workload.updated};
}

Result<Workload> from_record(const store::WorkloadRecord& record) {
  const auto invalid = [&](const std::string& what) {
    return fail(ErrorCode::Store, "the store contains an invalid workload; restore a backup",
                "workload " + std::to_string(record.id.value) + ": " + what);
  };
  const std::optional<Pool> pool = parse_pool(record.pool);
  if (!pool) return invalid("pool " + record.pool);
  const Result<CpuSet> cpus = parse_core_ids(record.core_ids);
  if (!cpus) return invalid(cpus.error().message);
  const Result<CpuSet> task_cpus = record.task_cpus.empty() ? CpuSet() : CpuSet::parse(record.task_cpus);
  if (!task_cpus) return invalid(task_cpus.error().message);
  std::optional<CacheRequest> cache;
  if (record.max_ways > 0 || *pool == Pool::Shared)
    cache = CacheRequest{.max = record.max_ways, .min = record.min_ways, .code = record.code_ways};
  std::optional<FrequencyRequest> frequency;
  if (record.frequency) {
    frequency = from_record(*record.frequency);
    if (!frequency) return invalid("unit " + record.frequency->unit);
  }
  const std::map<CacheId, rdt::Bandwidth> bandwidth = bandwidth_of(record.bandwidth);
  if (bandwidth.size() != record.bandwidth.size()) return invalid("unit of a granted bandwidth");
  std::optional<MbaRequest> mba;
  if (!record.mba_unit.empty()) {
    if (record.mba_unit != kPercentage && record.mba_unit != kMbps) return invalid("unit " + record.mba_unit);
    const bool is_percentage = record.mba_unit == kPercentage;
    mba = MbaRequest{.unit = is_percentage ? MbaRequest::Unit::Percentage : MbaRequest::Unit::Mbps,
                     .value = record.mba_value};
  }
  return Workload{
      .id = record.id,
      .spec = {.uuid = record.uuid,
               .core_ids = record.core_ids,
               .cpus = *cpus,
               .policy = record.policy,
               .cache = cache,
               .frequency = frequency,
               .owner = record.owner,
               .given_id = record.given_id,
               .onload = record.onload,
               .tasks = record.tasks,
               .mba = mba,
               .task_cpus = *task_cpus,
               .l2 = record.l2_ways > 0 ? std::optional(L2Request{.ways = record.l2_ways, .code = record.l2_code_ways})
                                        : std::nullopt},
      .grant = {.pool = *pool,
                .clos = record.clos,
                .ways = record.ways,
                .frequencies = frequencies_of(record.frequencies),
                .bandwidth = bandwidth},
      .created = record.created,
      .updated = record.updated,
      .origin = record.origin,
      .revision = record.revision};
}

}  // namespace nrd
