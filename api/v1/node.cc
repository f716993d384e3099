#include "api/v1/node.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "api/routing/query.h"
#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "api/v1/workload_json.h"
#include "base/find_in.h"
#include "base/json/object.h"
#include "engine/model/capacity.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/reserved_cpus.h"
#include "engine/model/workload_fields.h"
#include "engine/transaction/engine.h"
#include "engine/workload_poll.h"

namespace nrd::v1 {
namespace {

// Its mask and the number of its ways.
auto mask_of(WayMask ways) {
  return [ways](json::Writer& w) { to_json(w, ways); };
}

void write_mba(json::Writer& w, const rdt::MbaInfo& mba) {
  const char* note = mba.throttle_mode == "max" ? "the limit of a CPU also slows the other threads of its core" : "";
  w.begin_object();
  write_unit(w, mba);
  json::write_members(w, {{"step", mba.step},
                          {"least", mba.least},
                          {"most", mba.most},
                          {"thread_throttle_mode", json::or_null(mba.throttle_mode)},
                          {"note", json::or_null(note)}});
  w.end_object();
}

void write_cat(json::Writer& w, const rdt::Cat& cat) {
  json::write_object(w, {{"classes", cat.classes},
                         {"ways", cat.ways},
                         {"min_ways", cat.min_ways},
                         {"shared_with_io", mask_of(cat.shareable)},
                         {"cdp", cat.cdp},
                         {"sparse_masks", cat.sparse_masks}});
}

void write_monitoring(json::Writer& w, const rdt::Monitoring& monitoring) {
  json::write_object(w, {{"groups", monitoring.groups},
                         {"occupancy", monitoring.occupancy},
                         {"total", monitoring.total},
                         {"local", monitoring.local},
                         {"assigned_counters", monitoring.assigned_counters}});
}

void write_capabilities(json::Writer& w, const rdt::Node& node) {
  json::write_object(w, {{"l3_cat", json::or_null(node.level_of(3).cat, write_cat)},
                         {"l2_cat", json::or_null(node.level_of(2).cat, write_cat)},
                         {"mba", json::or_null(node.capabilities.mba_info, write_mba)},
                         {"monitoring", json::or_null(node.monitoring, write_monitoring)},
                         {"missing", node.missing}});
}

void write_layout(json::Writer& w, const PoolPartition& layout) {
  w.begin_object();
  for (const NamedPool& pool : kNamedPools) to_json(w.key(pool.name), layout.*pool.ways);
  w.end_object();
}

void write_groups(json::Writer& w, const NodeState& state) {
  const auto write_id = [](json::Writer& of, const Task& task) { json::write(of, task.id); };
  json::write_object(w, {{"os_cpus", state.config->groups.os},
                         {"infra_cpus", state.config->groups.infra},
                         {"infra_processes", json::array(state.infra_tasks, write_id)},
                         {"max_allowed_shared", state.config->max_shared}});
}

// Used: the root class and the classes of infra, workloads and foreign groups.
void write_classes(json::Writer& w, const NodeState& state) {
  json::write_object(w, {{"total", state.facts.rdt.main().cat.value_or(rdt::Cat{}).classes},
                         {"used", used_classes(state)},
                         {"reserved", state.config->reserved_classes}});
}

void write_mask_writer(json::Writer& w, const rdt::MaskWriterChoice& writer) {
  json::write_object(w, {{"by", writer.is_libpqos ? "libpqos" : "resctrl"}, {"reason", writer.reason}});
}

std::string_view text_of(rdt::GroupMode mode) {
  switch (mode) {
    case rdt::GroupMode::Shareable: return "shareable";
    case rdt::GroupMode::Exclusive: return "exclusive";
    case rdt::GroupMode::PseudoLockSetup: return "pseudo-locksetup";
    case rdt::GroupMode::PseudoLocked: return "pseudo-locked";
  }
  return {};
}

// Resctrl groups not created by nrd: their masks on this cache, CPUs and tasks.
void write_foreign(json::Writer& w, const NodeState& state, CacheId cache, const CpuSet& cpus) {
  w.key("foreign").begin_array();
  for (const auto& [name, group] : foreign_groups(state)) {
    const WayMask* ways = find_in(group->ways, cache);
    const WayMask mask = ways ? *ways : WayMask();
    json::write_object(w, {{"group", name},
                           {"ways", mask_of(mask)},
                           {"cpus", group->cpus & cpus},
                           {"tasks", group->tasks},
                           {"mode", text_of(group->mode)},
                           {"holds_ways", !mask.empty() && foreign_ways(state, cache).contains(mask)},
                           {"readable", group->is_readable}});
  }
  w.end_array();
}

// Free ways of each pool that has ways on this cache.
void write_pools(json::Writer& w, const NodeState& state, CacheId cache) {
  const PoolPartition* layout = layout_of(state, cache.level);
  const WayMask unassigned = unassigned_ways(state, cache);
  const WayMask idle = idle_ways(state, cache);
  w.key("pools").begin_object();
  for (const NamedPool& pool : kNamedPools) {
    const WayMask ways = layout ? (*layout).*pool.ways : WayMask();
    if (ways.empty()) continue;
    json::write_object(w.key(pool.name), {{"ways", ways.count()},
                                          {"free", (ways & unassigned).count()},
                                          {"longest_run", (ways & unassigned).longest_run().count()},
                                          {"idle", (ways & idle).count()}});
  }
  w.end_object();
}

void write_owners(json::Writer& w, const NodeState& state, CacheId cache) {
  w.key("workloads").begin_array();
  for (const auto& [id, workload] : state.workloads) {
    const WayMask* ways = find_in(workload.grant.ways, cache);
    if (!ways) continue;
    const Pool pool = is_of_l2(workload, cache) ? Pool::Guarantee : workload.grant.pool;
    json::write_object(w, {{"id", id_text(workload)},
                           {"uuid", json::given(workload.spec.uuid)},
                           {"cos_name", text_of(workload.grant.clos)},
                           {"pool", pool},
                           {"ways", mask_of(*ways)}});
  }
  w.end_array();
}

void write_cache(json::Writer& w, const NodeState& state, CacheId id, const CpuSet& cpus) {
  const rdt::Node& node = state.facts.rdt;
  const auto* socket = find_in(node.sockets, id);
  w.begin_object();
  json::write_members(w, {{"id", id.value},
                          {"socket", socket && *socket >= 0 ? std::optional(*socket) : std::nullopt},
                          {"numa_nodes", numa_nodes_of(node, id)},
                          {"way_bytes", json::given(way_bytes(node, id))},
                          {"cpus", cpus},
                          {"os", mask_of(os_ways(state, id))},
                          {"infra", mask_of(infra_ways(state, id))},
                          {"io", mask_of(io_ways(state, id))},
                          {"free", mask_of(free_ways(state, id))},
                          {"longest_run", unassigned_ways(state, id).longest_run().count()},
                          {"idle", mask_of(idle_ways(state, id))}});
  write_pools(w, state, id);
  write_foreign(w, state, id, cpus);
  write_owners(w, state, id);
  w.end_object();
}

void write_pool(json::Writer& w, const CpuPool& pool, const Reserve::Cpus& reserved, const ReserveCapacity& capacity) {
  if (pool.kind == CpuPool::Kind::Exclusive) {
    json::write_object(w,
                       {{"kind", pool.kind}, {"reserved", reserved.listed}, {"usable", capacity.cpus.at(pool.name)}});
  } else {
    json::write_object(w, {{"kind", pool.kind},
                           {"reserved_milli", uint64_t{1000} * reserved.of_share},
                           {"usable_milli", capacity.milli.at(pool.name)}});
  }
}

void write_reserve(json::Writer& w, const Capacity& node, const Reserve& reserve, const ReserveCapacity& capacity) {
  const auto write_ways = [&reserve](json::Writer& of, unsigned usable) {
    json::write_object(of, {{"reserved", *reserve.ways}, {"usable", usable}});
  };
  const auto write_reserved = [&](json::Writer& of, const std::map<std::string, Reserve::Cpus>& reserved) {
    of.begin_object();
    for (const CpuPool& pool : node.pools) {
      const Reserve::Cpus* found = find_in(reserved, pool.name);
      if (found) write_pool(of.key(pool.name), pool, *found, capacity);
    }
    of.end_object();
  };
  json::write_object(w, {{"ways", json::or_null(capacity.ways, write_ways)},
                         {"onload", reserve.onload},
                         {"pools", json::or_null(reserve.pools, write_reserved)}});
}

void write_capacity(json::Writer& w, const NodeState& state) {
  const Capacity capacity = capacity_of(state);
  const auto write_reserves = [&capacity](json::Writer& of) {
    of.begin_object();
    for (const auto& [origin, reserve] : capacity.reserves)
      write_reserve(of.key(origin), capacity, reserve, capacity.by_origin.at(origin));
    of.end_object();
  };
  json::write_object(w, {{"revision", state.capacity_revision},
                         {"default_pool", json::or_null(capacity.default_pool)},
                         {"reserves", write_reserves}});
}

http::Response shown(const NodeState& state) { return routing::json_answer(200, node_json(state)); }

}  // namespace

void write_unit(json::Writer& w, const rdt::MbaInfo& mba) {
  const bool is_percent = mba.unit == rdt::MbaUnit::Percent;
  w.key("mba_request").string(is_percent ? "percentage" : "mbps");
  w.key("mba_unit").string(is_percent ? "percent" : mba.unit == rdt::MbaUnit::Mbps ? "MB/s" : "GB/s / 8");
}

std::optional<uint64_t> way_bytes(const rdt::Node& node, CacheId cache) {
  const rdt::Geometry* geometry = find_in(node.geometry, cache);
  const std::optional<rdt::Cat>& cat = node.cat_of(cache);
  if (!geometry || geometry->bytes == 0 || !cat || cat->ways == 0) return std::nullopt;
  return geometry->bytes / cat->ways;
}

std::string numa_nodes_of(const rdt::Node& node, CacheId cache) {
  const auto* found = find_in(node.numa_nodes, cache);
  if (!found) return {};
  CpuSet numbers;  // formats as a kernel CPU list
  for (const uint32_t number : *found) numbers.add(CpuId{number});
  return numbers.to_string();
}

std::string node_json(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  const PoolPartition* layout = main_layout(state);
  const auto of_state = [&state](auto part) { return [&state, part](json::Writer& w) { part(w, state); }; };
  const auto write_cpus = [&node](json::Writer& w) {
    json::write_object(w, {{"possible", node.possible}, {"online", node.online}});
  };
  const auto write_each = [&state](json::Writer& w, const auto& cache) {
    write_cache(w, state, cache.first, cache.second);
  };
  json::Writer w;
  w.begin_object();
  json::write_members(w, {{"revision", state.revision},
                          {"host_name", state.facts.host_name},
                          {"machine_id", json::or_null(state.facts.machine_id)},
                          {"boot_id", state.facts.boot_id},
                          {"capacity", of_state(write_capacity)},
                          {"cpus", write_cpus},
                          {"capabilities", [&node](json::Writer& of) { write_capabilities(of, node); }},
                          {"writer", json::or_null(node.writer, write_mask_writer)},
                          {"layout", json::or_null(layout, write_layout)},
                          {"groups", of_state(write_groups)},
                          {"classes", of_state(write_classes)},
                          {"caches", json::array(node.main().caches, write_each)}});
  if (const PoolPartition* l2 = layout_of(state, 2); l2 && node.main_level != 2) {
    write_layout(w.key("l2_layout"), *l2);
    json::array(node.level_of(2).caches, write_each)(w.key("l2_caches"));
  }
  w.end_object();
  return w.take();
}

void show_node(const routing::Call& call, http::Reply reply) {
  const Result<routing::Wait> wait = routing::wait_in_query(call.request.query);
  if (!wait) return reply.send(refuse(wait.error(), call.error_style));
  const auto state = call.engine.state();
  if (wait->longest.count() == 0 || wait->since != state->capacity_revision) return reply.send(shown(*state));
  const auto has_changed = [seen = *wait->since](const NodeState& now) { return now.capacity_revision != seen; };
  call.poll.wait_until(call.request.client, call.engine, has_changed, wait->longest,
                       [reply](const std::shared_ptr<const NodeState>& now) { reply.send(shown(*now)); });
}

}  // namespace nrd::v1
