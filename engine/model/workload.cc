#include "engine/model/workload.h"

#include "engine/model/workload_fields.h"

namespace nrd {

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

const char* to_string(Pool pool) { return json::name_of(pool).data(); }

}  // namespace nrd
