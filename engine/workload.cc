#include "engine/workload.h"

namespace nrd {

const char* to_string(Pool pool) {
  switch (pool) {
    case Pool::Guarantee: return "guarantee";
    case Pool::BestEffort: return "besteffort";
    case Pool::Shared: return "shared";
  }
  return "";
}

std::optional<Pool> parse_pool(std::string_view name) {
  for (const Pool pool : {Pool::Guarantee, Pool::BestEffort, Pool::Shared}) {
    if (name == to_string(pool)) return pool;
  }
  return std::nullopt;
}

store::WorkloadRecord to_record(const Workload& workload) {
  const auto& [uuid, core_ids, cpus, cache] = workload.spec;
  return {.id = workload.id,
          .uuid = uuid,
          .origin = "REST",
          .core_ids = core_ids,
          .max_ways = cache.max,
          .min_ways = cache.min,
          .pool = to_string(workload.grant.pool),
          .clos = workload.grant.clos,
          .ways = workload.grant.ways,
          .created = workload.created,
          .updated = workload.updated};
}

Result<Workload> from_record(const store::WorkloadRecord& record) {
  const auto senseless = [&](const std::string& what) {
    return fail(ErrorCode::Store, "the store holds a workload that makes no sense; restore a backup",
                "workload " + std::to_string(record.id.value) + ": " + what);
  };
  const std::optional<Pool> pool = parse_pool(record.pool);
  if (!pool) return senseless("pool " + record.pool);
  CpuSet cpus;
  for (const std::string& item : record.core_ids) {
    const Result<CpuSet> parsed = CpuSet::parse(item);
    if (!parsed) return senseless(parsed.error().message);
    cpus |= *parsed;
  }
  return Workload{.id = record.id,
                  .spec = {.uuid = record.uuid,
                           .core_ids = record.core_ids,
                           .cpus = cpus,
                           .cache = {.max = record.max_ways, .min = record.min_ways}},
                  .grant = {.pool = *pool, .clos = record.clos, .ways = record.ways},
                  .created = record.created,
                  .updated = record.updated};
}

}  // namespace nrd
