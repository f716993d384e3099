#include "api/v1/node.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "api/routing/query.h"
#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "api/v1/workload_json.h"
#include "base/json/fields.h"
#include "base/json/writer.h"
#include "engine/model/capacity.h"
#include "engine/model/workload_fields.h"
#include "engine/transaction/engine.h"
#include "engine/workload_poll.h"

namespace nrd::v1 {
namespace {

void render_mba(json::Writer& w, const std::optional<rdt::MbaInfo>& mba) {
  if (!mba) {
    w.null();
    return;
  }
  w.begin_object();
  render_unit(w, *mba);
  w.key("step").number(mba->step);
  w.key("least").number(mba->least);
  w.key("most").number(uint64_t{mba->most});
  w.key("thread_throttle_mode").string_or_null(mba->throttle_mode);
  w.key("note").string_or_null(
      mba->throttle_mode == "max" ? "the limit of a CPU also slows the other threads of its core" : "");
  w.end_object();
}

void render_cat(json::Writer& w, const rdt::Node& node, unsigned level) {
  const std::optional<rdt::Cat>& cat = node.level_of(level).cat;
  if (!cat) {
    w.null();
    return;
  }
  w.begin_object();
  w.key("classes").number(cat->classes);
  w.key("ways").number(cat->ways);
  w.key("min_ways").number(cat->min_ways);
  w.key("shared_with_io");
  render(w, cat->shareable);
  w.key("cdp").boolean(cat->cdp);
  w.key("sparse_masks").boolean(cat->sparse_masks);
  w.end_object();
}

void render_monitoring(json::Writer& w, const std::optional<rdt::Monitoring>& monitoring) {
  if (!monitoring) {
    w.null();
    return;
  }
  w.begin_object();
  w.key("groups").number(monitoring->groups);
  w.key("occupancy").boolean(monitoring->occupancy);
  w.key("total").boolean(monitoring->total);
  w.key("local").boolean(monitoring->local);
  w.key("assigned_counters").number_or_null(monitoring->assigned_counters);
  w.end_object();
}

void render_capabilities(json::Writer& w, const rdt::Node& node) {
  w.key("capabilities").begin_object();
  w.key("l3_cat");
  render_cat(w, node, 3);
  w.key("l2_cat");
  render_cat(w, node, 2);
  w.key("mba");
  render_mba(w, node.capabilities.mba_info);
  w.key("monitoring");
  render_monitoring(w, node.monitoring);
  w.key("missing").begin_array();
  for (const std::string& sentence : node.missing) w.string(sentence);
  w.end_array();
  w.end_object();
}

void render_layout(json::Writer& w, const PoolPartition* layout) {
  if (!layout) {
    w.null();
    return;
  }
  w.begin_object();
  for (const NamedPool& pool : kNamedPools) {
    w.key(pool.name);
    render(w, (*layout).*pool.ways);
  }
  w.end_object();
}

void render_groups(json::Writer& w, const NodeState& state) {
  w.key("groups").begin_object();
  w.key("os_cpus").string(state.config->groups.os.to_string());
  w.key("infra_cpus").string(state.config->groups.infra.to_string());
  w.key("infra_processes").begin_array();
  for (const Task& task : state.infra_tasks) w.number(static_cast<uint64_t>(task.id));
  w.end_array();
  w.key("max_allowed_shared").number_or_null(state.config->max_shared);
  w.end_object();
}

// Used: the root class and the classes of infra, workloads and foreign groups.
void render_classes(json::Writer& w, const NodeState& state) {
  w.key("classes").begin_object();
  w.key("total").number(state.facts.rdt.main().cat.value_or(rdt::Cat{}).classes);
  w.key("used").number(used_classes(state));
  w.key("reserved").number(state.config->reserved_classes);
  w.end_object();
}

void render_writer(json::Writer& w, const rdt::Node& node) {
  w.key("writer");
  if (!node.writer) {
    w.null();
    return;
  }
  w.begin_object();
  w.key("by").string(node.writer->is_libpqos ? "libpqos" : "resctrl");
  w.key("reason").string(node.writer->reason);
  w.end_object();
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
void render_foreign(json::Writer& w, const NodeState& state, CacheId cache, const CpuSet& cpus) {
  w.key("foreign").begin_array();
  for (const auto& [name, group] : foreign_groups(state)) {
    const auto ways = group->ways.find(cache);
    const WayMask mask = ways == group->ways.end() ? WayMask() : ways->second;
    w.begin_object();
    w.key("group").string(name);
    w.key("ways");
    render(w, mask);
    w.key("cpus").string((group->cpus & cpus).to_string());
    w.key("tasks").number(uint64_t{group->tasks});
    w.key("mode").string(text_of(group->mode));
    w.key("holds_ways").boolean(!mask.empty() && foreign_ways(state, cache).contains(mask));
    w.key("readable").boolean(group->is_readable);
    w.end_object();
  }
  w.end_array();
}

// Free ways of each pool that has ways on this cache.
void render_pools(json::Writer& w, const NodeState& state, CacheId cache) {
  const PoolPartition* layout = layout_of(state, cache.level);
  const WayMask unassigned = unassigned_ways(state, cache);
  const WayMask idle = idle_ways(state, cache);
  w.key("pools").begin_object();
  for (const NamedPool& pool : kNamedPools) {
    const WayMask ways = layout ? (*layout).*pool.ways : WayMask();
    if (ways.empty()) continue;
    w.key(pool.name).begin_object();
    w.key("ways").number(ways.count());
    w.key("free").number((ways & unassigned).count());
    w.key("longest_run").number((ways & unassigned).longest_run().count());
    w.key("idle").number((ways & idle).count());
    w.end_object();
  }
  w.end_object();
}

void render_owners(json::Writer& w, const NodeState& state, CacheId cache) {
  w.key("workloads").begin_array();
  for (const auto& [id, workload] : state.workloads) {
    const auto ways = workload.grant.ways.find(cache);
    if (ways == workload.grant.ways.end()) continue;
    w.begin_object();
    w.key("id").string(id_text(workload));
    if (!workload.spec.uuid.empty()) w.key("uuid").string(workload.spec.uuid);
    w.key("cos_name").string(cos_name(workload.grant.clos));
    w.key("pool").string(to_string(is_of_l2(workload, cache) ? Pool::Guarantee : workload.grant.pool));
    w.key("ways");
    render(w, ways->second);
    w.end_object();
  }
  w.end_array();
}

void render_cache(json::Writer& w, const NodeState& state, CacheId id, const CpuSet& cpus) {
  w.begin_object();
  w.key("id").number(id.value);
  const auto socket = state.facts.rdt.sockets.find(id);
  w.key("socket");
  if (socket != state.facts.rdt.sockets.end() && socket->second >= 0) {
    w.number(static_cast<uint64_t>(socket->second));
  } else {
    w.null();
  }
  w.key("numa_nodes").string(numa_nodes_of(state.facts.rdt, id));
  const auto geometry = state.facts.rdt.geometry.find(id);
  const std::optional<rdt::Cat>& cat = state.facts.rdt.cat_of(id);
  if (geometry != state.facts.rdt.geometry.end() && geometry->second.bytes > 0 && cat && cat->ways > 0) {
    w.key("way_bytes").number(geometry->second.bytes / cat->ways);
  }
  w.key("cpus").string(cpus.to_string());
  w.key("os");
  render(w, os_ways(state, id));
  w.key("infra");
  render(w, infra_ways(state, id));
  w.key("io");
  render(w, io_ways(state, id));
  w.key("free");
  render(w, free_ways(state, id));
  w.key("longest_run").number(unassigned_ways(state, id).longest_run().count());
  w.key("idle");
  render(w, idle_ways(state, id));
  render_pools(w, state, id);
  render_foreign(w, state, id, cpus);
  render_owners(w, state, id);
  w.end_object();
}

void render_pool(json::Writer& w, const CpuPool& pool, const Reserve::Cpus& reserved, const ReserveCapacity& capacity) {
  const bool is_exclusive = pool.kind == CpuPool::Kind::Exclusive;
  w.key(pool.name).begin_object();
  w.key("kind").string(json::name_of(pool.kind));
  if (is_exclusive) {
    w.key("reserved").string(reserved.listed.to_string());
    w.key("usable").string(capacity.cpus.at(pool.name).to_string());
  } else {
    w.key("reserved_milli").number(uint64_t{1000} * reserved.of_share);
    w.key("usable_milli").number(capacity.milli.at(pool.name));
  }
  w.end_object();
}

void render_reserve(json::Writer& w, const Capacity& node, const Reserve& reserve, const ReserveCapacity& capacity) {
  w.begin_object();
  w.key("ways");
  if (capacity.ways) {
    w.begin_object();
    w.key("reserved").number(*reserve.ways);
    w.key("usable").number(*capacity.ways);
    w.end_object();
  } else {
    w.null();
  }
  w.key("onload").number_or_null(reserve.onload);
  w.key("pools");
  if (reserve.pools) {
    w.begin_object();
    for (const CpuPool& pool : node.pools) {
      const auto found = reserve.pools->find(pool.name);
      if (found != reserve.pools->end()) render_pool(w, pool, found->second, capacity);
    }
    w.end_object();
  } else {
    w.null();
  }
  w.end_object();
}

void render_capacity(json::Writer& w, const NodeState& state) {
  const Capacity capacity = capacity_of(state);
  w.key("capacity").begin_object();
  w.key("revision").number(state.capacity_revision);
  w.key("default_pool").string_or_null(capacity.default_pool);
  w.key("reserves").begin_object();
  for (const auto& [origin, reserve] : capacity.reserves)
    render_reserve(w.key(origin), capacity, reserve, capacity.by_origin.at(origin));
  w.end_object();
  w.end_object();
}

http::Response shown(const NodeState& state) { return routing::json_answer(200, render_node(state)); }

}  // namespace

void render_unit(json::Writer& w, const rdt::MbaInfo& mba) {
  const bool is_percent = mba.unit == rdt::MbaUnit::Percent;
  w.key("mba_request").string(is_percent ? "percentage" : "mbps");
  w.key("mba_unit").string(is_percent ? "percent" : mba.unit == rdt::MbaUnit::Mbps ? "MB/s" : "GB/s / 8");
}

std::string numa_nodes_of(const rdt::Node& node, CacheId cache) {
  const auto found = node.numa_nodes.find(cache);
  if (found == node.numa_nodes.end()) return {};
  CpuSet numbers;  // formats as a kernel CPU list
  for (const uint32_t number : found->second) numbers.add(CpuId{number});
  return numbers.to_string();
}

std::string render_node(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  json::Writer w;
  w.begin_object();
  w.key("revision").number(state.revision);
  w.key("host_name").string(state.facts.host_name);
  w.key("machine_id").string_or_null(state.facts.machine_id);
  w.key("boot_id").string(state.facts.boot_id);
  render_capacity(w, state);
  w.key("cpus").begin_object();
  w.key("possible").string(node.possible.to_string());
  w.key("online").string(node.online.to_string());
  w.end_object();
  render_capabilities(w, node);
  render_writer(w, node);
  render_layout(w.key("layout"), main_layout(state));
  render_groups(w, state);
  render_classes(w, state);
  w.key("caches").begin_array();
  for (const auto& [id, cpus] : node.main().caches) render_cache(w, state, id, cpus);
  w.end_array();
  if (const PoolPartition* l2 = layout_of(state, 2); l2 && node.main_level != 2) {
    render_layout(w.key("l2_layout"), l2);
    w.key("l2_caches").begin_array();
    for (const auto& [id, cpus] : node.level_of(2).caches) render_cache(w, state, id, cpus);
    w.end_array();
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
  call.watchers.wait_until(call.request.client, call.engine, has_changed, wait->longest,
                           [reply](const std::shared_ptr<const NodeState>& now) { reply.send(shown(*now)); });
}

}  // namespace nrd::v1
