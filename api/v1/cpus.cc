#include <string>

#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "base/json/fields.h"
#include "base/json/writer.h"
#include "engine/model/confinement.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/model/cpu_noise.h"
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

void render_cpus(json::Writer& w, const NodeState& state) {
  w.begin_array();
  for (const CpuId cpu : state.facts.rdt.possible.members()) {
    const CpuPool* pool = pool_with(state.config->cpu_pools, cpu);
    const Workload* owner = owner_of(state, cpu);
    w.begin_object();
    w.key("cpu").number(cpu.value);
    w.key("use").string(use_of(state, cpu, pool));
    w.key("pool");
    pool ? w.string(pool->name) : w.null();
    w.key("workload");
    owner ? w.string(id_text(*owner)) : w.null();
    if (const std::string kind = kind_of(state, cpu); !kind.empty()) w.key("core_kind").string(kind);
    w.end_object();
  }
  w.end_array();
}

void render_zones(json::Writer& w, const NodeState& state) {
  w.begin_array();
  for (const cpuset::Zone& zone : state.facts.cpuset.zones) {
    const CpuSet online = zone.cpus & state.facts.rdt.online;
    if (online.empty()) continue;
    w.begin_object();
    w.key("level").string(json::name_of(zone.level));
    w.key("id").number(zone.id);
    w.key("cpus").string(online.to_string());
    w.end_object();
  }
  w.end_array();
}

void render_huge_pages(json::Writer& w, const NodeState& state) {
  w.begin_array();
  for (const auto& [pages, free] : state.facts.cpuset.free_huge_pages) {
    w.begin_object();
    w.key("node").number(pages.node);
    w.key("bytes").number(pages.bytes);
    w.key("free").number(free);
    w.end_object();
  }
  w.end_array();
}

void render_conflicts(json::Writer& w, const NodeState& state) {
  w.begin_array();
  for (const cpuset::Conflict& conflict : state.cpu_conflicts) {
    w.begin_object();
    w.key("source").string(json::name_of(conflict.source));
    w.key("name").string(conflict.name);
    w.key("cpus").string(conflict.cpus.to_string());
    w.key("text").string(conflict.text);
    w.key("remedy").string(conflict.remedy);
    w.end_object();
  }
  w.end_array();
}

void render_confinement(json::Writer& w, const NodeState& state) {
  const std::string problem = confinement_problem(state);
  w.begin_object();
  w.key("kind").string(json::name_of(state.config->confinement));
  w.key("others").string(cpus_of_others(state).to_string());
  w.key("problem");
  problem.empty() ? w.null() : w.string(problem);
  w.end_object();
}

void render_members(json::Writer& w, const NodeState& state, const CpuPool& pool) {
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
void render_largest(json::Writer& w, const NodeState& state, const CpuPool& pool, const CpuSet& free) {
  w.begin_object();
  for (const auto& [level, count] : plan::largest_requests(*state.cpu_zones, pool, free))
    w.key(json::name_of(level)).number(count);
  w.end_object();
}

void render_pool(json::Writer& w, const NodeState& state, const CpuPool& pool) {
  const CpuSet free = free_cpus_of(state, pool);
  w.begin_object();
  w.key("name").string(pool.name);
  w.key("kind").string(json::name_of(pool.kind));
  w.key("cpus").string(pool.cpus.to_string());
  w.key("threads").string(json::name_of(pool.threads));
  w.key("order").string(json::name_of(pool.order));
  w.key("within").string((pool.never_crosses ? "!" : "") + std::string(json::name_of(pool.within)));
  w.key("latency_us").number_or_null(pool.latency_us);
  w.key("low_noise").boolean(pool.low_noise);
  w.key("free").string(free.to_string());
  if (pool.kind == CpuPool::Kind::Exclusive) render_largest(w.key("largest"), state, pool, free);
  if (pool.kind == CpuPool::Kind::Shared) w.key("requested_milli").number(requested_milli(state, pool));
  render_members(w.key("workloads"), state, pool);
  w.end_object();
}

void render_disturbance(json::Writer& w, const cpuset::Disturbance& disturbance) {
  w.begin_object();
  w.key("source").string(json::name_of(disturbance.source));
  w.key("name").string_or_null(disturbance.name);
  w.key("cpus").string(disturbance.cpus.to_string());
  w.key("text").string(disturbance.text);
  w.key("remedy").string(disturbance.remedy);
  w.end_object();
}

struct Checked {
  std::string pool;
  cpuset::CheckQuery query;
  PoolCheck::Disturbances siblings;
};

http::Response report_of(const Checked& checked, const PoolCheck::Disturbances& found) {
  json::Writer w;
  w.begin_object();
  w.key("pool").string(checked.pool);
  w.key("cpus").string(checked.query.cpus.to_string());
  w.key("disturbances").begin_array();
  for (const cpuset::Disturbance& disturbance : checked.siblings) render_disturbance(w, disturbance);
  for (const cpuset::Disturbance& disturbance : found) render_disturbance(w, disturbance);
  w.end_array();
  w.end_object();
  return routing::json_answer(200, w.take());
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
  json::Writer w;
  w.begin_object();
  w.key("possible").string(state->facts.rdt.possible.to_string());
  w.key("online").string(state->facts.rdt.online.to_string());
  w.key("isolated").string(state->facts.rdt.isolated.to_string());
  w.key("nohz_full").string(state->facts.cpuset.nohz_full.to_string());
  render_zones(w.key("zones"), *state);
  render_cpus(w.key("cpus"), *state);
  render_huge_pages(w.key("huge_pages"), *state);
  render_confinement(w.key("confine"), *state);
  render_conflicts(w.key("conflicts"), *state);
  w.end_object();
  reply.send(routing::json_answer(200, w.take()));
}

void list_cpu_pools(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  json::Writer w;
  w.begin_array();
  for (const CpuPool& pool : state->config->cpu_pools) render_pool(w, *state, pool);
  w.end_array();
  reply.send(routing::json_answer(200, w.take()));
}

void show_cpu_pool(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const CpuPool* pool = find_pool(*state, call, reply);
  if (!pool) return;
  json::Writer w;
  render_pool(w, *state, *pool);
  reply.send(routing::json_answer(200, w.take()));
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
