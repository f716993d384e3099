#include "engine/plan/cpu_grant.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/reserves.h"
#include "engine/plan/cpu_needs.h"
#include "engine/plan/cpu_quota.h"
#include "engine/plan/cpus/placement.h"

namespace nrd::plan {
namespace {

std::string names_of(const CpuPools& pools) { return joined(pools, ", ", &CpuPool::name); }

Result<const CpuPool*> requested_pool(const NodeState& state, const CpuRequest& request) {
  const CpuPools& pools = state.config->cpu_pools;
  if (pools.empty()) {
    return fail_at(ErrorCode::Unsupported, "/cpu", "no CPU pool is configured",
                   "core_ids, or a pool in the configuration ([[cpu.pools]])");
  }
  if (request.pool.empty()) {
    if (const CpuPool* common = find_pool(pools, state.config->default_pool)) return common;
    if (pools.size() == 1) return &pools.front();
    return fail_at(ErrorCode::BadRequest, "/cpu/pool", "is required: several pools are configured", names_of(pools));
  }
  if (const CpuPool* found = find_pool(pools, request.pool)) return found;
  return fail_at(ErrorCode::BadRequest, "/cpu/pool", "there is no pool " + request.pool, names_of(pools));
}

// Workloads that request to be apart from `self`.
std::vector<Apart> kept_apart(const NodeState& state, WorkloadId self) {
  std::vector<Apart> apart;
  for (const auto& [id, other] : state.workloads) {
    if (id == self || !other.spec.cpu) continue;
    const bool names_self = std::ranges::any_of(other.spec.cpu->apart, [&](const std::string& name) {
      const Workload* named = workload_with_id(state, name);
      return named && named->id == self;
    });
    if (names_self)
      apart.push_back({.workload = id_text(other), .cpus = cpus_of(other), .level = other.spec.cpu->level});
  }
  return apart;
}

// Whether the stored `self` requests it: the other one may have been deleted since.
bool asks_to_be_apart(const NodeState& state, WorkloadId self, const std::string& other) {
  const Workload* found = find_in(state.workloads, self);
  if (!found || !found->spec.cpu) return false;
  const std::vector<std::string>& apart = found->spec.cpu->apart;
  return std::ranges::find(apart, other) != apart.end();
}

Result<std::vector<Apart>> apart_from(const NodeState& state, const CpuRequest& request, WorkloadId self) {
  std::vector<Apart> apart = kept_apart(state, self);
  for (size_t i = 0; i < request.apart.size(); ++i) {
    const Workload* other = workload_with_id(state, request.apart[i]);
    if (!other) {
      if (asks_to_be_apart(state, self, request.apart[i])) continue;
      return fail_at(ErrorCode::BadRequest, fmt::format("/cpu/apart/{}", i), "there is no workload " + request.apart[i],
                     "ids of workloads");
    }
    if (other->id == self) {
      return fail_at(ErrorCode::BadRequest, fmt::format("/cpu/apart/{}", i),
                     fmt::format("workload {} cannot be apart from itself", request.apart[i]),
                     "ids of other workloads");
    }
    apart.push_back({.workload = request.apart[i], .cpus = cpus_of(*other)});
  }
  return apart;
}

// `before`: the workload as it is, nullptr for a new one. Names the member that the request adds to it.
Result<void> check_request(const Spec& spec, const Workload* before) {
  const bool has_core_ids = before && !before->spec.cpu && before->spec.core_ids == spec.core_ids;
  if (!spec.core_ids.empty() && has_core_ids) {
    return fail_at(ErrorCode::BadRequest, "/cpu", "the workload has core_ids, and cannot have both",
                   "core_ids, or a PUT of the whole request with cpu in their place");
  }
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
                   fmt::format("pool {} is exclusive: its CPUs are not divided", pool.name), "count, cores or cpus");
  }
  if (given == 1) return {};
  return fail_at(ErrorCode::BadRequest, "/cpu/count",
                 given == 0 ? fmt::format("is required: pool {} is exclusive", pool.name)
                            : "only one of count, cores and cpus can be given",
                 "count, cores or cpus");
}

// How many CPUs it asks for at least: whole cores may have several each.
size_t least_cpus(const CpuRequest& request) { return request.count + request.cores + request.cpus.size(); }

// What all requests of a workload have in common.
struct Planning {
  const NodeState& state;
  const Workload& workload;
  const Workload* before;  // as it is; nullptr: it is new
  const CpuQuotaCheck& quota;
  bool has_scope;
};

Result<CpuGrant> join(const Planning& planning, const CpuPool& pool, const CpuRequest& request) {
  const Spec& spec = planning.workload.spec;
  if (request.count > 0 || request.cores > 0 || !request.cpus.empty()) {
    return fail_at(ErrorCode::BadRequest, number_field(request),
                   fmt::format("pool {} is shared: its members run on all its CPUs", pool.name),
                   "no number of CPUs, or a pool of kind \"exclusive\"");
  }
  if (spec.tasks.empty() && !spec.has_group()) {
    return fail_at(ErrorCode::BadRequest, "/task_ids",
                   fmt::format("is required: a workload in the shared pool {} has no CPUs of its own", pool.name),
                   "the tasks that run in the pool");
  }
  TRY(check_share(planning.state, pool, planning.workload, request, planning.has_scope));
  return CpuGrant{
      .pool = pool.name, .memory_nodes = memory_near(planning.state, pool.cpus), .reason = "the pool is shared"};
}

// Decided once for an owner: a process does not leave its scope.
bool has_scope(const NodeState& state, const Workload* before, const Spec& spec) {
  if (before && before->grant.cpu && before->spec.owner == spec.owner) return before->grant.cpu->has_scope;
  return spec.runs_caller && state.facts.cpuset.no_scopes.empty();
}

CpuSet current_cpus(const Planning& planning, const CpuPool& pool) {
  if (!planning.before) return {};
  for (const CpuGrant& grant : cpu_grants_of(*planning.before)) {
    if (grant.pool == pool.name) return grant.exclusive & planning.state.facts.rdt.online;
  }
  return {};
}

// `others`: CPUs that it gets for the requests before this one.
Result<CpuGrant> plan_request(const Planning& planning, const CpuRequest& request, const CpuPool& pool, size_t others) {
  const NodeState& state = planning.state;
  const Workload& workload = planning.workload;
  const CpuQuotaCheck& quota = planning.quota;
  if (pool.kind == CpuPool::Kind::Shared) {
    TRY(quota.check(pool, others, request, 0));
    return join(planning, pool, request);
  }
  TRY(check_number(pool, request));
  // Before the placement, so that what a refusal says would fit is also permitted.
  TRY(quota.check(pool, others, request, least_cpus(request)));
  const CpuRequest& first = *workload.spec.cpu;
  std::vector<Apart> apart = TRY(apart_from(state, first, workload.id));
  // What it has it may keep, though the reserves have changed.
  CpuPool permitted = pool_for(state, pool, workload.origin);
  const CpuSet current = current_cpus(planning, pool);
  permitted.cpus |= current;
  const CpuSet free = free_cpus_of(state, permitted, workload.id);
  CpuRequest placed = request;
  placed.near = first.near;
  placed.strict = first.strict;
  placed.level = first.level;
  const Situation situation{.tree = *state.cpu_zones,
                            .pool = permitted,
                            .free = first.among.empty() ? free : free & first.among,
                            .current = current,
                            .near = workload.spec.near_cpus,
                            .apart = std::move(apart),
                            .owners = [&](const CpuSet& cpus) { return owners_of(state, cpus, workload.id); }};
  CpuGrant grant = TRY(place(situation, placed).map_error([&](Error error) {
    error.message += pool_reserve_text(state, pool, workload.origin);
    return error;
  }));
  TRY(quota.check(pool, others, request, grant.exclusive.size()));
  grant.memory_nodes = memory_near(state, grant.exclusive);
  return grant;
}

// Members that choose among CPUs, of a request that gets none of its own.
Result<void> check_choice(const CpuRequest& request, const CpuGrant& grant) {
  if (request.strict && request.near.empty())
    return fail_at(ErrorCode::BadRequest, "/cpu/strict", "requires near", "near beside it, or no strict");
  if (!grant.exclusive.empty()) return {};
  const char* member = !request.near.empty()                  ? "/cpu/near"
                       : !request.apart.empty()               ? "/cpu/apart"
                       : request.level != cpuset::Level::Core ? "/cpu/level"
                       : !request.among.empty()               ? "/cpu/among"
                                                              : nullptr;
  if (!member) return {};
  return fail_at(ErrorCode::BadRequest, member, "has no effect: members of a shared pool run on all its CPUs",
                 "CPUs of an exclusive pool, or none of near, strict, apart, level and among");
}

// CPUs that the workload does not have yet must not be another origin's, or outside its own reserve.
Result<void> check_core_ids(const NodeState& state, const Workload& workload, const Workload* before) {
  const CpuSet added = before ? workload.spec.cpus - cpus_of(*before) : workload.spec.cpus;
  for (const CpuPool& pool : state.config->cpu_pools) {
    if (pool.kind != CpuPool::Kind::Exclusive) continue;
    const CpuSet permitted = pool_for(state, pool, workload.origin).cpus;
    const CpuSet refused = (added & pool.cpus) - permitted;
    if (refused.empty()) continue;
    return fail_at(ErrorCode::Conflict, "/core_ids",
                   fmt::format("CPU {} of pool {} cannot be taken{}", refused.to_string(), pool.name,
                               pool_reserve_text(state, pool, workload.origin)),
                   permitted.empty() ? "CPUs outside of the pool" : "CPUs of " + permitted.to_string());
  }
  return {};
}

// Moves an error to the member of the request that is wrong: "/cpu/1/count". The first has near and apart of all.
auto at_request(const Spec& spec, size_t index) {
  return [&spec, index](Error error) {
    constexpr std::string_view kField = "/cpu";
    if (spec.further_cpus.empty() || !error.field.starts_with(kField)) return error;
    const std::string_view member = std::string_view(error.field).substr(kField.size());
    const bool is_common = member.starts_with("/near") || member.starts_with("/apart");
    error.field.insert(kField.size(), fmt::format("/{}", is_common ? 0 : index));
    return error;
  };
}

Result<CpuGrant> plan_one(const Planning& planning, const CpuRequest& request, const std::vector<CpuGrant>& others) {
  const CpuPool* pool = TRY(requested_pool(planning.state, request));
  size_t cpus = 0;
  for (const CpuGrant& other : others) {
    if (other.pool == pool->name)
      return fail_at(ErrorCode::BadRequest, "/cpu/pool", fmt::format("pool {} occurs twice", pool->name),
                     "one request for each pool");
    cpus += other.exclusive.size();
  }
  return plan_request(planning, request, *pool, cpus);
}

CpuGrant sum_of(const std::vector<CpuGrant>& grants) {
  CpuGrant sum = grants.front();
  for (const CpuGrant& grant : grants) {
    sum.exclusive |= grant.exclusive;
    sum.idle_siblings |= grant.idle_siblings;
    sum.memory_nodes |= grant.memory_nodes;
  }
  return sum;
}

Result<Grant> plan_all(const Planning& planning) {
  const Spec& spec = planning.workload.spec;
  Grant grants;
  for (const CpuRequest* request : cpu_requests_of(spec)) {
    grants.cpu_by_pool.push_back(
        TRY(plan_one(planning, *request, grants.cpu_by_pool).map_error(at_request(spec, grants.cpu_by_pool.size()))));
  }
  grants.cpu = sum_of(grants.cpu_by_pool);
  grants.cpu->has_scope = planning.has_scope;
  if (spec.further_cpus.empty()) grants.cpu_by_pool.clear();
  TRY(check_choice(*spec.cpu, *grants.cpu).map_error(at_request(spec, 0)));
  TRY(check_memory(planning.state, planning.workload, *grants.cpu).map_error(at_request(spec, 0)));
  return grants;
}

bool runs_elsewhere(const Spec& before, const Spec& after) {
  const auto places = [](const Spec& spec) { return std::tie(spec.unit, spec.cgroup, spec.tasks, spec.owner); };
  return places(before) != places(after);
}

// The same CPUs for what runs elsewhere than before.
Result<void> check_place(const Planning& planning, const Grant& kept) {
  const Spec& spec = planning.workload.spec;
  const std::vector<const CpuRequest*> requests = cpu_requests_of(spec);
  for (size_t i = 0; i < requests.size(); ++i) {
    const CpuPool* pool = TRY(requested_pool(planning.state, *requests[i]));
    if (pool->kind != CpuPool::Kind::Shared) continue;
    TRY(join(planning, *pool, *requests[i]).map_error(at_request(spec, i)));
  }
  return check_memory(planning.state, planning.workload, *kept.cpu).map_error(at_request(spec, 0));
}

// The exclusive pool that has all of `cpus`, if any.
const CpuPool* exclusive_pool_with(const NodeState& state, const CpuSet& cpus) {
  return first_if(state.config->cpu_pools, [&cpus](const CpuPool& pool) {
    return pool.kind == CpuPool::Kind::Exclusive && !cpus.empty() && cpus.is_subset_of(pool.cpus);
  });
}

// core_ids inside an exclusive pool request its `cpus`; elsewhere no pool has a part in them.
Result<Grant> plan_core_ids(const NodeState& state, const Workload& workload, const Workload* before,
                            const CpuQuotaCheck& quota) {
  const CpuSet& cpus = workload.spec.cpus;
  if (before && before->grant.cpu && !before->spec.cpu && before->spec.cpus == cpus)
    return Grant{.cpu = before->grant.cpu};
  TRY(quota.check_core_ids(cpus));
  TRY(check_core_ids(state, workload, before));
  const CpuPool* pool = exclusive_pool_with(state, cpus);
  // check() refuses CPUs of others, or offline ones, in the words for core_ids.
  if (!pool || !cpus.is_subset_of(free_cpus_of(state, *pool, workload.id))) return Grant();
  Workload as_request = workload;
  const CpuRequest& request = as_request.spec.cpu.emplace(CpuRequest{.pool = pool->name, .cpus = cpus});
  const Planning planning{.state = state, .workload = as_request, .before = before, .quota = quota, .has_scope = false};
  CpuGrant grant = TRY(plan_request(planning, request, *pool, 0).map_error([](Error error) {
    error.field = "/core_ids";
    return error;
  }));
  return Grant{.cpu = std::move(grant)};
}

}  // namespace

Spec with_default_pool(const NodeState& state, Spec spec, const std::string& origin) {
  const bool asks_for_cpus = spec.cpu || !spec.core_ids.empty();
  const bool is_of_clients_or_files = origin == kOriginRest || origin == kOriginFile;
  if (asks_for_cpus || is_of_clients_or_files || state.config->default_pool.empty()) return spec;
  spec.cpu.emplace().pool = state.config->default_pool;
  return spec;
}

Result<Grant> plan_cpus(const NodeState& state, const Workload& workload, const std::optional<LocalUser>& quota_user) {
  const Spec& spec = workload.spec;
  const Workload* before = find_in(state.workloads, workload.id);
  const CpuQuotaCheck quota(state, before, quota_user);
  if (!spec.cpu) return plan_core_ids(state, workload, before, quota);
  TRY(check_request(spec, before).map_error(at_request(spec, 0)));
  const Planning planning{.state = state,
                          .workload = workload,
                          .before = before,
                          .quota = quota,
                          .has_scope = has_scope(state, before, spec)};
  if (before && before->grant.cpu && before->spec.cpu == spec.cpu && before->spec.further_cpus == spec.further_cpus) {
    Grant kept{.cpu = before->grant.cpu, .cpu_by_pool = before->grant.cpu_by_pool};
    kept.cpu->has_scope = planning.has_scope;
    if (runs_elsewhere(before->spec, spec)) TRY(check_place(planning, kept));
    return kept;
  }
  return plan_all(planning);
}

}  // namespace nrd::plan
