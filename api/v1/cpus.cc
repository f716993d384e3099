#include <string>

#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "base/json/object.h"
#include "engine/model/confinement.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"
#include "engine/plan/cpus/search.h"
#include "engine/pool_check.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

// The workload that keeps `cpu` idle, if any.
const Workload* idled_by(const NodeState& state, CpuId cpu) {
  for (const auto& [id, workload] : state.workloads) {
    if (workload.grant.cpu && workload.grant.cpu->idle_siblings.contains(cpu)) return &workload;
  }
  return nullptr;
}

// "free" and "shared" only in a pool.
const char* use_of(const NodeState& state, CpuId cpu, const CpuPool* pool) {
  if (!state.facts.rdt.online.contains(cpu)) return "offline";
  if (owner_of(state, cpu)) return "exclusive";
  if (idled_by(state, cpu)) return "idle_sibling";
  if (!pool) return "other";
  return pool->kind == CpuPool::Kind::Shared ? "shared" : "free";
}

// Of its core; empty: all are alike.
std::string kind_of(const NodeState& state, CpuId cpu) {
  for (const auto& [kind, cpus] : state.facts.cpuset.core_kinds) {
    if (cpus.contains(cpu)) return kind;
  }
  return {};
}

void write_logical_cpu(json::Writer& w, const NodeState& state, CpuId cpu) {
  const CpuPool* pool = pool_with(state.config->cpu_pools, cpu);
  const Workload* owner = owner_of(state, cpu);
  json::write_object(w, {{"cpu", cpu},
                         {"use", use_of(state, cpu, pool)},
                         {"pool", json::or_null(pool ? pool->name : "")},
                         {"workload", json::or_null(owner ? id_text(*owner) : "")},
                         {"core_kind", json::given(kind_of(state, cpu))}});
}

void write_zones(json::Writer& w, const NodeState& state) {
  w.begin_array();
  for (const cpuset::Zone& zone : state.facts.cpuset.zones) {
    const CpuSet online = zone.cpus & state.facts.rdt.online;
    if (!online.empty()) json::write_object(w, {{"level", zone.level}, {"id", zone.id}, {"cpus", online}});
  }
  w.end_array();
}

void write_huge_pages(json::Writer& w, const std::pair<const cpuset::HugePages, uint64_t>& pages) {
  json::write_object(w, {{"node", pages.first.node}, {"bytes", pages.first.bytes}, {"free", pages.second}});
}

void write_conflict(json::Writer& w, const cpuset::Conflict& conflict) {
  json::write_object(w, {{"source", conflict.source},
                         {"name", conflict.name},
                         {"cpus", conflict.cpus},
                         {"text", conflict.text},
                         {"remedy", conflict.remedy}});
}

void write_confinement(json::Writer& w, const NodeState& state) {
  json::write_object(w, {{"kind", state.config->confinement},
                         {"others", cpus_of_others(state)},
                         {"problem", json::or_null(confinement_problem(state))}});
}

void write_members(json::Writer& w, const NodeState& state, const CpuPool& pool) {
  w.begin_array();
  for (const auto& [id, workload] : state.workloads) {
    const bool is_member =
        std::ranges::any_of(cpu_grants_of(workload), [&](const CpuGrant& grant) { return grant.pool == pool.name; }) ||
        cpus_of(workload).intersects(pool.cpus);
    if (is_member) w.string(id_text(workload));
  }
  w.end_array();
}

// The largest number of CPUs that one request can have now within a zone of each level.
void write_largest(json::Writer& w, const NodeState& state, const CpuPool& pool, const CpuSet& free) {
  w.begin_object();
  for (const auto& [level, count] : plan::largest_requests(*state.cpu_zones, pool, free))
    w.key(json::name_of(level)).number(count);
  w.end_object();
}

void write_pool(json::Writer& w, const NodeState& state, const CpuPool& pool) {
  const CpuSet free = free_cpus_of(state, pool);
  w.begin_object();
  json::write_members(w, {{"name", pool.name},
                          {"kind", pool.kind},
                          {"cpus", pool.cpus},
                          {"threads", pool.threads},
                          {"order", pool.order},
                          {"within", (pool.never_crosses ? "!" : "") + std::string(json::name_of(pool.within))},
                          {"latency_us", pool.latency_us},
                          {"low_noise", pool.low_noise},
                          {"free", free}});
  if (pool.kind == CpuPool::Kind::Exclusive) write_largest(w.key("largest"), state, pool, free);
  if (pool.kind == CpuPool::Kind::Shared) w.key("requested_milli").number(requested_milli(state, pool));
  write_members(w.key("workloads"), state, pool);
  w.end_object();
}

void write_disturbance(json::Writer& w, const cpuset::Disturbance& disturbance) {
  json::write_object(w, {{"source", disturbance.source},
                         {"name", json::or_null(disturbance.name)},
                         {"cpus", disturbance.cpus},
                         {"text", disturbance.text},
                         {"remedy", disturbance.remedy}});
}

struct Checked {
  std::string pool;
  cpuset::CheckQuery query;
  PoolCheck::Disturbances siblings;
};

http::Response report_of(const Checked& checked, const PoolCheck::Disturbances& found) {
  PoolCheck::Disturbances all = checked.siblings;
  all.insert(all.end(), found.begin(), found.end());
  return routing::json_answer(200, json::document({{"pool", checked.pool},
                                                   {"cpus", checked.query.cpus},
                                                   {"disturbances", json::array(all, write_disturbance)}}));
}

// Null: there is none, which was the answer.
const CpuPool* find_pool(const NodeState& state, const routing::Call& call, const http::Reply& reply) {
  const CpuPool* pool = find_pool(state.config->cpu_pools, call.id);
  if (pool) return pool;
  reply.send(refuse(fail(ErrorCode::NotFound, "there is no such CPU pool"), call.error_style));
  return nullptr;
}

}  // namespace

void show_cpus(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const rdt::Node& node = state->facts.rdt;
  const std::vector<CpuId> possible = node.possible.members();
  const auto of_state = [&state](auto part) { return [&state, part](json::Writer& w) { part(w, *state); }; };
  const auto write_each = [&state](json::Writer& w, CpuId cpu) { write_logical_cpu(w, *state, cpu); };
  reply.send(routing::json_answer(
      200, json::document({{"possible", node.possible},
                           {"online", node.online},
                           {"isolated", node.isolated},
                           {"nohz_full", state->facts.cpuset.nohz_full},
                           {"zones", of_state(write_zones)},
                           {"cpus", json::array(possible, write_each)},
                           {"huge_pages", json::array(state->facts.cpuset.free_huge_pages, write_huge_pages)},
                           {"confine", of_state(write_confinement)},
                           {"conflicts", json::array(state->cpu_conflicts, write_conflict)}})));
}

void list_cpu_pools(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const auto write_each = [&state](json::Writer& w, const CpuPool& pool) { write_pool(w, *state, pool); };
  reply.send(routing::json_answer(200, json::array(state->config->cpu_pools, write_each)));
}

void show_cpu_pool(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const CpuPool* pool = find_pool(*state, call, reply);
  if (pool) reply.send(routing::json_answer(200, [&](json::Writer& w) { write_pool(w, *state, *pool); }));
}

void check_cpu_pool(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const CpuPool* pool = find_pool(*state, call, reply);
  if (!pool) return;
  const Checked checked{
      .pool = pool->name, .query = check_query_of(*state, *pool), .siblings = busy_siblings(*state, *pool)};
  call.checks.run(checked.query, answer_with<PoolCheck::Disturbances>(call, std::move(reply),
                                                                      [checked](const PoolCheck::Disturbances& found) {
                                                                        return report_of(checked, found);
                                                                      }));
}

}  // namespace nrd::v1
