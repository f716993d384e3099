#include "api/v1/monitoring.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "api/v1/node.h"
#include "api/v1/workload_json.h"
#include "base/find_in.h"
#include "base/json/object.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

constexpr double kBytesOfMb = 1e6;

// With three decimals.
auto rounded(std::optional<double> value) {
  return [value](json::Writer& w) { value ? w.raw(fmt::format("{:.3f}", *value)) : w.null(); };
}

std::optional<double> in_mb(std::optional<double> bytes) {
  return bytes ? std::optional(*bytes / kBytesOfMb) : std::nullopt;
}

// Fails with the reason if the workload has no usage counters.
Result<void> check_counted(const NodeState& state, const Workload& workload) {
  if (!state.facts.rdt.monitoring) {
    const auto& missing = state.facts.rdt.missing;
    return fail(ErrorCode::Unsupported, "usage monitoring is not available on this node: " +
                                            (missing.empty() ? "resctrl has no info/L3_MON" : missing.front()));
  }
  if (workload.grant.has_class()) return {};
  return fail(ErrorCode::Conflict,
              "the workload has no class of its own because it requested no ways; its usage is counted in the root "
              "class and cannot be separated");
}

void write_usage_of(json::Writer& w, const std::optional<CacheUsage>& usage) {
  const CacheUsage known = usage.value_or(CacheUsage{});
  json::write_members(w, {{"occupancy_bytes", known.counted.occupancy_bytes},
                          {"total_bytes", known.counted.total_bytes},
                          {"local_bytes", known.counted.local_bytes},
                          {"total_mb_per_second", rounded(in_mb(known.total_bytes_per_second))},
                          {"local_mb_per_second", rounded(in_mb(known.local_bytes_per_second))},
                          {"not_counted", json::or_null(known.counted.not_counted)}});
}

// The NUMA nodes that the kernel counts separately.
std::set<uint32_t> counted_nodes_of(const UsageSample& sample, ClosId clos, CacheId cache) {
  std::set<uint32_t> nodes;
  const auto* group = find_in(sample.classes, clos);
  if (!group) return nodes;
  for (const auto& [domain, usage] : *group) {
    if (domain.cache == cache && domain.numa_node) nodes.insert(*domain.numa_node);
  }
  return nodes;
}

void write_cache(json::Writer& w, const NodeState& state, const Workload& workload, CacheId cache,
                 const UsageSample& sample) {
  // A workload may have L2 ways only.
  const WayMask* found = find_in(workload.grant.ways, cache);
  const WayMask ways = found ? *found : WayMask();
  const auto way = ways.empty() ? std::nullopt : way_bytes(state.facts.rdt, cache);
  w.begin_object();
  json::write_members(w, {{"id", cache.value},
                          {"ways", ways.empty() ? std::nullopt : std::optional(ways.count())},
                          {"ways_bytes", way ? std::optional(*way * ways.count()) : std::nullopt}});
  write_usage_of(w, usage_of(sample, workload, {cache}));
  w.key("numa_nodes").begin_array();
  for (const uint32_t node : counted_nodes_of(sample, workload.grant.clos, cache)) {
    w.begin_object().key("id").number(node);
    write_usage_of(w, usage_of(sample, workload, {cache, node}));
    w.end_object();
  }
  w.end_array().end_object();
}

// With the present grant. The order of times says nothing once the clock has been set.
bool had_it(const Workloads& workloads, const Workload& workload) {
  const auto found = workloads.find(workload.id);
  return found != workloads.end() && found->second.revision >= workload.revision;
}

}  // namespace

size_t workloads_in_class(const NodeState& state, ClosId clos) {
  return static_cast<size_t>(std::ranges::count_if(state.workloads, [clos](const auto& entry) {
    return entry.second.grant.has_class() && entry.second.grant.clos == clos;
  }));
}

std::optional<CacheUsage> usage_of(const UsageSample& sample, const Workload& workload,
                                   const rdt::MonitoringDomain& domain) {
  const auto* group = find_in(sample.classes, workload.grant.clos);
  const CacheUsage* found = group && had_it(sample.workloads, workload) ? find_in(*group, domain) : nullptr;
  if (!found) return std::nullopt;
  CacheUsage usage = *found;
  // At the previous sample the class may have belonged to another workload.
  if (!had_it(sample.workloads_before, workload)) {
    usage.total_bytes_per_second = usage.local_bytes_per_second = std::nullopt;
  }
  return usage;
}

std::string usage_json(const NodeState& state, const Workload& workload, const UsageSample& sample) {
  const ClosId clos = workload.grant.clos;
  const auto interval =
      sample.since ? std::optional(std::chrono::duration<double>(*sample.since).count()) : std::nullopt;
  const std::set<CacheId> caches = counted_caches(state, workload);
  const auto write_each = [&](json::Writer& w, CacheId cache) { write_cache(w, state, workload, cache, sample); };
  return json::document({{"id", id_text(workload)},
                         {"cos_name", text_of(clos)},
                         {"workloads_in_class", workloads_in_class(state, clos)},
                         {"sampled", timestamp(sample.at)},
                         {"interval_seconds", rounded(interval)},
                         {"caches", json::array(caches, write_each)}});
}

void show_monitoring(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Workload* found = workload_with_id(*state, call.id);
  const routing::ErrorStyle style = call.error_style;
  const Result<void> counted = found == nullptr ? Result<void>(fail(ErrorCode::NotFound, "there is no such workload"))
                                                : check_counted(*state, *found);
  if (!counted) return reply.send(refuse(counted.error(), style));
  const ClosId clos = found->grant.clos;
  call.engine.sample_usage(clos,
                           [reply, state, found, style](const Result<std::shared_ptr<const UsageSample>>& sample) {
                             reply.send(sample ? routing::json_answer(200, usage_json(*state, *found, **sample))
                                               : refuse(sample.error(), style));
                           });
}

}  // namespace nrd::v1
