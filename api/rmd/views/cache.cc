#include "api/rmd/views/cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "api/rmd/texts.h"
#include "api/rmd/views/handlers.h"
#include "api/rmd/views/hospitality_score.h"
#include "api/routing/answer.h"
#include "api/routing/problem.h"
#include "api/v1/node.h"
#include "api/v1/response_cache.h"
#include "base/find_in.h"
#include "base/json/object.h"
#include "base/number.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/policies.h"
#include "engine/plan/bandwidth.h"
#include "engine/transaction/engine.h"

namespace nrd::rmd {
namespace {

// RMD's clients decode into 32 bits and reject the whole response if a number is larger.
uint64_t in_32_bits(uint64_t value) { return std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()); }

void write_ids(json::Writer& w, std::string_view level, const std::map<CacheId, CpuSet>& caches) {
  if (caches.empty()) return;
  const auto write_id = [](json::Writer& of, const auto& cache) { of.string(std::to_string(cache.first.value)); };
  json::write_object(w.key(level), {{"number", caches.size()}, {"caches_id", json::array(caches, write_id)}});
}

std::string summary_json(const rdt::Node& node) {
  const rdt::Capabilities& has = node.capabilities;
  const auto write_caches = [&node](json::Writer& w) {
    w.begin_object();
    write_ids(w, "l2", node.level_of(2).caches);
    write_ids(w, "l3", node.level_of(3).caches);
    w.end_object();
  };
  return json::document({{"rdt", has.rdt},
                         {"cqm", has.monitoring},
                         {"cdp", has.l3_cdp || has.l2_cdp},
                         {"cdp_enable", has.is_mounted_with_cdp},
                         {"cat", has.l3_cat || has.l2_cat},
                         {"cat_enable", has.is_mounted && !has.is_mounted_with_cdp},
                         {"caches", write_caches}});
}

struct PoolView {
  std::string_view name;  // RMD's
  WayMask ways;
  WayMask free;  // not granted
};

// The pools that have ways on this cache.
std::vector<PoolView> pools_of(const NodeState& state, CacheId cache) {
  const PoolPartition* layout = layout_of(state, cache.level);
  if (!layout) return {};
  const WayMask held = foreign_ways(state, cache) | granted_ways(state, cache);
  std::vector<PoolView> pools;
  for (const auto& [name, ways] : {std::pair<std::string_view, WayMask>{"guaranteed", layout->guarantee},
                                   {"besteffort", layout->besteffort},
                                   {"shared", layout->shared},
                                   {"infra", layout->infra},
                                   {"os", layout->os}}) {
    if (!ways.empty()) pools.push_back({name, ways, ways - held});
  }
  return pools;
}

void write_geometry(json::Writer& w, const rdt::Node& node, CacheId id) {
  const rdt::Geometry* found = find_in(node.geometry, id);
  const rdt::Geometry geometry = found ? *found : rdt::Geometry{};
  const uint64_t partitions = std::max(geometry.partitions, 1U);
  const rdt::Cat cat = node.cat_of(id).value_or(rdt::Cat{});
  json::write_members(w, {{"cache_id", id.value},
                          {"NumWays", geometry.ways},
                          {"NumSets", geometry.sets},
                          {"NumPartitions", geometry.partitions},
                          {"LineSize", geometry.line_bytes},
                          {"total_size", in_32_bits(geometry.bytes)},
                          {"WaySize", in_32_bits(partitions * geometry.line_bytes * geometry.sets)},
                          {"NumClasses", cat.classes},
                          // libpqos's name for the mask of ways shared with I/O.
                          {"WayContention", cat.shareable.bits()},
                          {"CacheLevel", id.level}});
}

// Location and available resources.
void write_place(json::Writer& w, const NodeState& state, CacheId id, const CpuSet& cpus) {
  const rdt::Node& node = state.facts.rdt;
  const auto* socket = find_in(node.sockets, id);
  // Without NUMA support the kernel reports no nodes; report node 0, because clients expect a number.
  const std::string numa_nodes = v1::numa_nodes_of(node, id);
  const CpuSet free = cpus & free_cpus(state);
  json::write_members(w, {{"location_on_socket", socket ? std::to_string(*socket) : ""},
                          {"location_on_node", numa_nodes.empty() ? "0" : numa_nodes},
                          {"share_cpu_list", cpus},
                          {"available_ways", free_ways(state, id).hex()},
                          {"available_cpus", free},
                          {"available_isolated_cpus", free & node.isolated}});
}

Spec spec_of(const Policy& policy) {
  Spec spec;
  spec.cache = policy.cache;
  spec.mba = policy.mba;
  return spec;
}

// The number of further workloads of each policy that fit; 0 for L2 next to L3, which no policy requests. Each workload
// needs a free CPU of the cache.
void write_policies(json::Writer& w, const NodeState& state, CacheId id, const CpuSet& cpus) {
  const auto most = static_cast<unsigned>((cpus & free_cpus(state)).size());
  w.key("available_policy").begin_object();
  for (const auto& [name, policy] : state.config->policies ? *state.config->policies : Policies{}) {
    const bool can_be_had =
        policy.cache && state.facts.rdt.is_main(id) && plan::check_bandwidth(state, spec_of(policy));
    w.key(name).number(can_be_had ? how_many_fit(state, *policy.cache, id, most) : 0);
  }
  w.end_object();
}

void write_cache(json::Writer& w, const NodeState& state, CacheId id, const CpuSet& cpus) {
  const std::vector<PoolView> pools = pools_of(state, id);
  w.begin_object();
  write_geometry(w, state.facts.rdt, id);
  write_place(w, state, id, cpus);
  write_policies(w, state, id, cpus);
  w.key("available_ways_pool").begin_object();
  for (const PoolView& pool : pools) w.key(pool.name).string(pool.free.list());
  w.end_object();
  // nrd's own keys: the same as numbers.
  w.key("available_ways_count").number(free_ways(state, id).count());
  w.key("pool_counts").begin_object();
  for (const PoolView& pool : pools) {
    json::write_object(w.key(pool.name), {{"ways", pool.ways.count()}, {"free", pool.free.count()}});
  }
  w.end_object().end_object();
}

std::string level_json(const NodeState& state, const std::map<CacheId, CpuSet>& caches) {
  const auto write_caches = [&](json::Writer& w) {
    w.begin_object();
    for (const auto& [id, cpus] : caches) write_cache(w.key(std::to_string(id.value)), state, id, cpus);
    w.end_object();
  };
  return json::document({{"number", caches.size()}, {"Caches", write_caches}});
}

http::Response refuse(const routing::Call& call, int status, const char* code, std::string_view line) {
  return problem_response({.status = status, .code = code, .line = std::string(line), .detail = std::string(line)},
                          call.error_style);
}

// Of a path that refuse_level() accepts.
unsigned level_of(const routing::Call& call, const rdt::Node& node) {
  return call.level == "llc" ? node.main_level : call.level == "l2" ? 2 : 3;
}

// The error response for an unsupported {level}; nullopt if the level is supported.
std::optional<http::Response> refuse_level(const routing::Call& call, const rdt::Node& node) {
  constexpr std::array kLevels{"l2", "l3", "llc"};
  if (std::ranges::find(kLevels, call.level) == kLevels.end()) {
    return refuse(call, 404, "NoSuchPath", kPageNotFound);
  }
  if (node.main().caches.empty())
    return refuse(call, 400, "BadRequest", "this node has no cache with allocatable ways");
  const unsigned level = level_of(call, node);
  if (level == node.main_level || node.level_of(level).cat) return std::nullopt;
  return refuse(call, 400, "BadRequest",
                fmt::format("unsupported cache level; ways are allocated in {} on this node", level_name(node)));
}

}  // namespace

std::string_view level_name(const rdt::Node& node) { return node.main_level == 2 ? "l2" : "l3"; }

std::string cache_level_json(const NodeState& state) { return level_json(state, state.facts.rdt.main().caches); }

void show_caches(const routing::Call& call, http::Reply reply) {
  reply.send(routing::json_answer(200, summary_json(call.engine.state()->facts.rdt)));
}

void show_cache_level(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  if (auto refused = refuse_level(call, state->facts.rdt)) return reply.send(*std::move(refused));
  const rdt::Node& node = state->facts.rdt;
  const unsigned level = level_of(call, node);
  reply.send(routing::json_answer(200, level == node.main_level ? call.bodies.caches.text(state)->text
                                                                : level_json(*state, node.level_of(level).caches)));
}

void show_cache(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const rdt::Node& node = state->facts.rdt;
  if (auto refused = refuse_level(call, node)) return reply.send(*std::move(refused));
  // As in RMD: an id that does not begin with a digit is an unknown path, one with other characters a bad number.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!is_digit(call.id.front())) return reply.send(refuse(call, 404, "NoSuchPath", kPageNotFound));
  if (!std::ranges::all_of(call.id, is_digit)) {
    return reply.send(refuse(call, 400, "BadRequest", kCacheIdNotDigits));
  }
  const unsigned level = level_of(call, node);
  const SharedMap<CacheId, CpuSet>& caches = node.level_of(level).caches;
  const std::optional<uint32_t> id = parse_number<uint32_t>(call.id);
  const CpuSet* cpus = id ? find_in(caches, CacheId{level, *id}) : nullptr;
  if (!cpus) {
    return reply.send(refuse(call, 404, "NotFound", no_such_cache(call.id, level)));
  }
  reply.send(routing::json_answer(200, [&](json::Writer& w) { write_cache(w, *state, {level, *id}, *cpus); }));
}

}  // namespace nrd::rmd
