#include "engine/model/pool_check.h"

#include <map>
#include <string>

#include "base/find_in.h"
#include "engine/model/workloads.h"

namespace nrd {
namespace {

struct Uses {
  std::map<CpuId, const Workload*> owners;
  CpuSet kept_idle;
};

Uses uses_of(const NodeState& state) {
  Uses uses;
  for (const auto& [id, workload] : state.workloads) {
    for (const CpuId cpu : cpus_of(workload).members()) uses.owners.emplace(cpu, &workload);
    if (workload.grant.cpu) uses.kept_idle |= workload.grant.cpu->idle_siblings;
  }
  return uses;
}

const Workload* owner_in(const Uses& uses, CpuId cpu) {
  const auto* owner = find_in(uses.owners, cpu);
  return owner ? *owner : nullptr;
}

// Empty: not disturbed. A pool of whole cores, or of one thread of each, gives no core to two workloads.
std::string use_of_sibling(const Uses& uses, const CpuPool& pool, CpuId cpu, CpuId sibling) {
  const Workload* owner = owner_in(uses, sibling);
  if (owner && owner != owner_in(uses, cpu)) return "is used by workload " + id_text(*owner);
  if (owner || uses.kept_idle.contains(sibling)) return {};
  if (!pool.cpus.contains(sibling)) return "is not in the pool, and may run other tasks";
  const bool is_whole = pool.kind == CpuPool::Kind::Exclusive && pool.threads != CpuPool::Threads::Any;
  return is_whole ? std::string() : "may be used at the same time";
}

}  // namespace

cpuset::CheckQuery check_query_of(const NodeState& state, const CpuPool& pool) {
  const CpuSet cpus = pool.cpus & state.facts.rdt.online;
  return {.cpus = cpus,
          .low_noise = pool.low_noise,
          .latency_us = pool.latency_us,
          .use = {.pooled = cpus,
                  .exclusive = cpus,
                  .unbalanced = state.facts.rdt.isolated | state.facts.cpuset.nohz_full,
                  .holders = {}}};
}

std::vector<cpuset::Disturbance> busy_siblings(const NodeState& state, const CpuPool& pool) {
  const Uses uses = uses_of(state);
  std::map<std::string, CpuSet> found;
  for (const cpuset::Zone& zone : state.facts.cpuset.zones) {
    if (zone.level != cpuset::Level::Core) continue;
    const std::vector<CpuId> threads = (zone.cpus & state.facts.rdt.online).members();
    for (const CpuId cpu : threads) {
      if (!pool.cpus.contains(cpu) || uses.kept_idle.contains(cpu)) continue;
      for (const CpuId sibling : threads) {
        const std::string use = sibling == cpu ? std::string() : use_of_sibling(uses, pool, cpu, sibling);
        if (!use.empty()) found[use].add(cpu);
      }
    }
  }
  std::vector<cpuset::Disturbance> disturbances;
  for (auto& [use, cpus] : found) {
    disturbances.push_back({.source = cpuset::Disturbance::Source::Sibling,
                            .cpus = cpus,
                            .text = "another thread of the same core " + use,
                            .remedy = R"(threads = "one" or "all" in a pool that has all threads of its cores)"});
  }
  return disturbances;
}

}  // namespace nrd
