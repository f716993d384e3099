#include "engine/plan/bandwidth.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "engine/model/node_state.h"
#include "engine/plan/spec.h"

namespace nrd::plan {
namespace {

constexpr const char* kBandwidthField = "/rdt/mba";
constexpr uint32_t kMbpsOfEighth = 125;  // an eighth of a GB/s

using Unit = MbaRequest::Unit;

bool is_everything(const MbaRequest& request) {
  return request.value == (request.unit == Unit::Percentage ? MbaRequest::kMostPercent : MbaRequest::kMostMbps);
}

// `subject`: the text for clients of RMD, in RMD's words.
Failure refused(ErrorCode code, std::string message, std::string allowed, std::string subject) {
  return fail_at(code, kBandwidthField, std::move(message), std::move(allowed), std::move(subject));
}

Result<void> check_unit(const rdt::MbaInfo& mba, const MbaRequest& request) {
  const bool is_percent_here = mba.unit == rdt::MbaUnit::Percent;
  if (is_percent_here == (request.unit == Unit::Percentage)) return {};
  if (is_percent_here) {
    return refused(ErrorCode::BadRequest, "this node limits memory bandwidth in percent, not in MB/s", "percentage",
                   "percentage");
  }
  return refused(ErrorCode::BadRequest, "this node limits memory bandwidth in MB/s, not in percent", "mbps", "mbps");
}

}  // namespace

Result<void> check_bandwidth(const NodeState& state, const Spec& spec) {
  if (!spec.mba) return {};
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  if (!mba) return refused(ErrorCode::Unsupported, "this node cannot limit memory bandwidth", "", "none");
  if (!spec.cache) {
    return refused(ErrorCode::BadRequest, "a memory bandwidth limit requires a cache request", "cache beside mba",
                   "cache");
  }
  TRY(check_unit(*mba, *spec.mba));
  const Pool pool = TRY(pool_of(*spec.cache));
  if (pool == Pool::Shared) {
    return refused(ErrorCode::BadRequest, "workloads in the shared class cannot have a bandwidth limit of their own",
                   "max and min of cache equal and above 0", is_everything(*spec.mba) ? "shared" : "guarantee");
  }
  if (pool == Pool::BestEffort && !is_everything(*spec.mba)) {
    return refused(ErrorCode::BadRequest, "memory bandwidth can be limited only for a guarantee",
                   "max and min of cache equal and above 0", "guarantee");
  }
  if (mba->unit != rdt::MbaUnit::EighthsOfGbps || is_everything(*spec.mba)) return {};
  const uint64_t most = uint64_t{mba->most} * kMbpsOfEighth;
  if (spec.mba->value <= most) return {};
  return refused(ErrorCode::BadRequest, fmt::format("{} MB/s exceeds the largest limit of this node", spec.mba->value),
                 fmt::format("1 to {}", most), "");
}

rdt::Bandwidth limit_for(const rdt::MbaInfo& mba, const MbaRequest& request) {
  if (is_everything(request)) return {.unit = mba.unit, .value = mba.most};
  const bool is_amd = mba.unit == rdt::MbaUnit::EighthsOfGbps;
  const uint64_t asked = is_amd ? (uint64_t{request.value} + kMbpsOfEighth - 1) / kMbpsOfEighth : request.value;
  const uint64_t step = std::max(mba.step, 1U);
  // The kernel has no minimum in MB/s (bw_validate() of fs/resctrl).
  const uint64_t least = mba.unit == rdt::MbaUnit::Mbps ? 1 : mba.least;
  const uint64_t rounded = (std::max(asked, least) + step - 1) / step * step;
  return {.unit = mba.unit, .value = static_cast<uint32_t>(std::min<uint64_t>(rounded, mba.most))};
}

std::map<CacheId, rdt::Bandwidth> plan_bandwidth(const NodeState& state, const Spec& spec,
                                                 const std::map<CacheId, WayMask>& ways) {
  std::map<CacheId, rdt::Bandwidth> limits;
  const std::optional<rdt::MbaInfo>& mba = state.facts.rdt.capabilities.mba_info;
  if (!spec.mba || !mba || is_everything(*spec.mba)) return limits;
  for (const auto& [cache, its] : ways) {
    if (cache.level == 3) limits[cache] = limit_for(*mba, *spec.mba);
  }
  return limits;
}

CpuSet throttled_siblings(const NodeState& state, const Workload& workload) {
  const rdt::Node& node = state.facts.rdt;
  CpuSet limited;
  for (const auto& [cache, limit] : workload.grant.bandwidth) {
    const bool is_less = node.capabilities.mba_info && limit.value < node.capabilities.mba_info->most;
    if (is_less && node.has(cache)) limited |= cpus_of(workload) & node.cpus_of(cache);
  }
  CpuSet siblings;
  for (const CpuSet& threads : node.throttled_together) {
    if (threads.intersects(limited)) siblings |= threads - cpus_of(workload);
  }
  return siblings;
}

}  // namespace nrd::plan
