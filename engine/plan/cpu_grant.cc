#include "engine/plan/cpu_grant.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/plan/cpu_quota.h"
#include "engine/plan/cpus/placement.h"

namespace nrd::plan {
namespace {

std::string names_of(const CpuPools& pools) {
  std::string names;
  for (const CpuPool& pool : pools) names += (names.empty() ? "" : ", ") + pool.name;
  return names;
}

Result<const CpuPool*> requested_pool(const NodeState& state, const CpuRequest& request) {
  const CpuPools& pools = state.config->cpu_pools;
  if (pools.empty()) {
    return fail_at(ErrorCode::Unsupported, "/cpu", "no CPU pool is configured",
                   "core_ids, or a pool in the configuration ([[cpu.pools]])");
  }
  if (request.pool.empty()) {
    if (pools.size() == 1) return &pools.front();
    return fail_at(ErrorCode::BadRequest, "/cpu/pool", "is required: several pools are configured", names_of(pools));
  }
  if (const CpuPool* found = find_pool(pools, request.pool)) return found;
  return fail_at(ErrorCode::BadRequest, "/cpu/pool", "there is no pool " + request.pool, names_of(pools));
}

Result<std::vector<Apart>> apart_from(const NodeState& state, const CpuRequest& request) {
  std::vector<Apart> apart;
  for (size_t i = 0; i < request.apart.size(); ++i) {
    const Workload* other = workload_with_id(state, request.apart[i]);
    if (!other) {
      return fail_at(ErrorCode::BadRequest, "/cpu/apart/" + std::to_string(i),
                     "there is no workload " + request.apart[i], "ids of workloads");
    }
    apart.push_back({.workload = request.apart[i], .cpus = cpus_of(*other)});
  }
  return apart;
}

Result<void> check_request(const Spec& spec) {
  if (!spec.core_ids.empty())
    return fail_at(ErrorCode::BadRequest, "/core_ids", "cannot be combined with cpu", "either core_ids or cpu");
  if (spec.cpu->enforce == CpuRequest::Enforce::Runtime && spec.cgroup.empty())
    return fail_at(ErrorCode::BadRequest, "/cpu/enforce", "a container runtime limits cgroups only",
                   "nrd, or a cgroup beside it");
  const auto& level = spec.cpu->level;
  if (level == cpuset::Level::Core || level == cpuset::Level::L3 || level == cpuset::Level::Node) return {};
  return fail_at(ErrorCode::BadRequest, "/cpu/level", "cannot be kept apart at this level", "core, l3 or node");
}

// The only one of the three, for an exclusive pool.
Result<void> check_number(const CpuPool& pool, const CpuRequest& request) {
  const int given = (request.count > 0 ? 1 : 0) + (request.cores > 0 ? 1 : 0) + (request.cpus.empty() ? 0 : 1);
  if (request.request_milli > 0 || request.limit_milli > 0) {
    return fail_at(ErrorCode::BadRequest, request.request_milli > 0 ? "/cpu/request_milli" : "/cpu/limit_milli",
                   "pool " + pool.name + " is exclusive: its CPUs are not divided", "count, cores or cpus");
  }
  if (given == 1) return {};
  return fail_at(ErrorCode::BadRequest, "/cpu/count",
                 given == 0 ? "is required: pool " + pool.name + " is exclusive"
                            : "only one of count, cores and cpus can be given",
                 "count, cores or cpus");
}

// How many CPUs it asks for at least: whole cores may have several each.
size_t least_cpus(const CpuRequest& request) { return request.count + request.cores + request.cpus.size(); }

// What shared pools and their members have of CPU time.
Result<void> check_share(const NodeState& state, const CpuPool& pool, const Workload& workload, bool has_scope) {
  const CpuRequest& request = *workload.spec.cpu;
  if (request.limit_milli > 0 && request.limit_milli < request.request_milli)
    return fail_at(ErrorCode::BadRequest, "/cpu/limit_milli", "is less than request_milli",
                   "at least " + std::to_string(request.request_milli));
  if (request.limit_milli > 0 && request.request_milli == 0)
    return fail_at(ErrorCode::BadRequest, "/cpu/request_milli", "is required with limit_milli", "thousandths of a CPU");
  if (request.request_milli == 0) return {};
  if (!workload.spec.has_group() && !has_scope) {
    return fail_at(ErrorCode::Unsupported, "/cpu/request_milli", "single tasks cannot have a share of CPU time",
                   "a unit, a cgroup, or nrdctl run");
  }
  const uint64_t all = uint64_t{1000} * (pool.cpus & state.facts.rdt.online).size();
  const uint64_t used = std::min(all, requested_milli(state, pool, workload.id));
  if (request.request_milli <= all - used) return {};
  return fail_at(ErrorCode::NotEnough, "/cpu/request_milli",
                 "pool " + pool.name + " has " + std::to_string(all - used) + " of " + std::to_string(all) +
                     " thousandths of a CPU left; " + std::to_string(request.request_milli) + " were requested",
                 all == used ? "none until one of its workloads ends" : "at most " + std::to_string(all - used));
}

std::string size_text(uint64_t bytes) {
  constexpr uint64_t kMib = 1 << 20;
  return bytes == 0 ? "memory" : std::to_string((bytes + kMib - 1) / kMib) + " MiB of memory";
}

// Memory is bound before there is any: the kernel would move it inside the write, which takes seconds for each GB.
Result<void> check_memory(const NodeState& state, Workload workload, const CpuGrant& grant) {
  workload.grant.cpu = grant;
  if (workload.spec.cpu->memory != CpuRequest::Memory::Near) return {};
  if (!workload.spec.has_group() && !grant.has_scope)
    return fail_at(ErrorCode::Unsupported, "/cpu/memory", "memory of single tasks cannot be bound to NUMA nodes",
                   "any, or a unit, a cgroup, or nrdctl run");
  if (grant.memory_nodes.empty())
    return fail_at(ErrorCode::Unsupported, "/cpu/memory", "the NUMA nodes of the CPUs have no memory", "any");
  for (const cpuset::Target& target : targets_of(workload)) {
    const auto found = state.observed.cpuset.memory.find(target);
    if (found == state.observed.cpuset.memory.end()) continue;
    const cpuset::Memory& memory = found->second;
    if (!memory.is_used || memory.nodes == grant.memory_nodes) continue;
    return fail_at(ErrorCode::Conflict, "/cpu/memory",
                   target.name + " runs and has " + size_text(memory.bytes) + " of node " + memory.nodes.to_string() +
                       ", not of " + grant.memory_nodes.to_string(),
                   "any, or " + target.name + " before it has processes");
  }
  return {};
}

Result<CpuGrant> join(const CpuPool& pool, const Spec& spec) {
  const CpuRequest& request = *spec.cpu;
  const char* member = request.count > 0 ? "/cpu/count" : request.cores > 0 ? "/cpu/cores" : "/cpu/cpus";
  if (request.count > 0 || request.cores > 0 || !request.cpus.empty()) {
    return fail_at(ErrorCode::BadRequest, member, "pool " + pool.name + " is shared: its members run on all its CPUs",
                   "no number of CPUs, or a pool of kind \"exclusive\"");
  }
  if (spec.tasks.empty() && !spec.has_group()) {
    return fail_at(ErrorCode::BadRequest, "/task_ids",
                   "is required: a workload in the shared pool " + pool.name + " has no CPUs of its own",
                   "the tasks that run in the pool");
  }
  return CpuGrant{.pool = pool.name, .exclusive = {}, .idle_siblings = {}, .zone = {}, .reason = "the pool is shared"};
}

// Decided once for an owner: a process does not leave its scope.
bool has_scope(const NodeState& state, const Workload* before, const Spec& spec) {
  if (before && before->grant.cpu && before->spec.owner == spec.owner) return before->grant.cpu->has_scope;
  return spec.runs_caller && state.facts.cpuset.no_scopes.empty();
}

}  // namespace

Result<std::optional<CpuGrant>> plan_cpus(const NodeState& state, const Workload& workload,
                                          const std::optional<LocalUser>& quota_user) {
  const Spec& spec = workload.spec;
  const auto present = state.workloads.find(workload.id);
  const Workload* before = present == state.workloads.end() ? nullptr : &present->second;
  const CpuQuotaCheck quota(state, before, quota_user);
  if (!spec.cpu) {
    TRY(quota.check_core_ids(spec.cpus));
    return std::nullopt;
  }
  TRY(check_request(spec));
  if (before && before->grant.cpu && before->spec.cpu == spec.cpu) {
    CpuGrant grant = *before->grant.cpu;
    grant.has_scope = has_scope(state, before, spec);
    return grant;
  }
  const CpuPool* pool = TRY(requested_pool(state, *spec.cpu));
  if (pool->kind == CpuPool::Kind::Shared) {
    CpuGrant grant = TRY(join(*pool, spec));
    TRY(quota.check(*pool, *spec.cpu, 0));
    grant.has_scope = has_scope(state, before, spec);
    grant.memory_nodes = memory_near(state, pool->cpus);
    TRY(check_share(state, *pool, workload, grant.has_scope));
    TRY(check_memory(state, workload, grant));
    return grant;
  }
  TRY(check_number(*pool, *spec.cpu));
  // Before the placement, so that what a refusal says would fit is also permitted.
  TRY(quota.check(*pool, *spec.cpu, least_cpus(*spec.cpu)));
  const bool keeps_pool = before && before->grant.cpu && before->grant.cpu->pool == pool->name;
  std::vector<Apart> apart = TRY(apart_from(state, *spec.cpu));
  const CpuSet free = free_cpus_of(state, *pool, workload.id);
  const CpuSet& among = spec.cpu->among;
  const Situation situation{.tree = *state.cpu_zones,
                            .pool = *pool,
                            .free = among.empty() ? free : free & among,
                            .current = keeps_pool ? before->grant.cpu->exclusive & state.facts.rdt.online : CpuSet(),
                            .near = spec.near_cpus,
                            .apart = std::move(apart)};
  CpuGrant grant = TRY(place(situation, *spec.cpu));
  TRY(quota.check(*pool, *spec.cpu, grant.exclusive.size()));
  grant.has_scope = has_scope(state, before, spec);
  grant.memory_nodes = memory_near(state, grant.exclusive);
  TRY(check_memory(state, workload, grant));
  return grant;
}

}  // namespace nrd::plan
