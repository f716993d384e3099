#include "engine/plan/grant.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/find_in.h"
#include "engine/model/node_state.h"
#include "engine/plan/bandwidth.h"
#include "engine/plan/cpu_grant.h"
#include "engine/plan/cpu_quota.h"
#include "engine/plan/frequencies.h"
#include "engine/plan/grant_ways.h"
#include "engine/plan/policy.h"
#include "engine/plan/spec.h"
#include "engine/plan/targets.h"

namespace nrd::plan {
namespace {

// Allocates everything that `workload` requests; `before` is its previous grant. `self`: nullopt for a new one.
Result<Workloads> grant(const NodeState& state, Workload workload, const Grant& before, std::optional<WorkloadId> self,
                        const std::optional<LocalUser>& quota_user) {
  // CPUs first: they decide which caches and which frequencies.
  workload.grant = {};
  workload.grant = TRY(plan_cpus(state, workload, quota_user));
  if (quota_user && takes_cpus(state, workload)) workload.spec.quota_uid = quota_user->uid;
  TRY(check(state, workload, self, quota_user.has_value()));
  workload.grant.frequencies = TRY(plan_frequencies(state, workload));
  if (workload.spec.asks_for_ways()) return grant_ways(state, state.workloads, std::move(workload), before);
  Workloads workloads = state.workloads;
  workloads.put(std::move(workload));
  if (main_layout(state)) reclaim_free_ways(state, workloads, besteffort_caches(state, before));
  return workloads;
}

// A different policy replaces the whole request. The same policy changes nothing, whatever else is given: clients
// repeat their first request, for example with 0/0.
Result<Spec> with_policy(const NodeState& state, Spec spec, const std::string& policy) {
  if (policy == spec.policy) return spec;
  if (!spec.policy.empty()) {
    spec.cache.reset();
    spec.frequency.reset();
    spec.mba.reset();
  }
  spec.policy = policy;
  return filled(state, std::move(spec));
}

Result<Spec> with_changes(const NodeState& state, const Spec& before, SpecPatch patch) {
  if (patch.policy.empty()) {
    Spec spec = patched(before, patch);
    // Changing a field that the policy supplied replaces the policy by an explicit request.
    if (spec.cache != before.cache || spec.mba != before.mba || spec.frequency != before.frequency) spec.policy.clear();
    return spec;
  }
  patch.cache.reset();
  patch.mba.reset();
  patch.frequency.reset();
  return with_policy(state, patched(before, patch), patch.policy);
}

template <typename T>
bool removes(const Change<T>& change) {
  return change && !*change;
}

bool requests_nothing(const Spec& spec) {
  return !spec.asks_for_ways() && !spec.frequency && !spec.onload && !spec.cpu;
}

// Of a change whose body has an object for the first of several pools: "/cpu/0/count" is "/cpu/count" there, and
// "/cpu/1/pool" is only "/cpu".
Error of_object(Error error) {
  constexpr std::string_view kCpu = "/cpu";
  for (size_t i = 0; i < kMostCpuPools; ++i) {
    const std::string item = fmt::format("{}/{}", kCpu, i);
    if (error.field.starts_with(item)) error.field.replace(0, i == 0 ? item.size() : error.field.size(), kCpu);
  }
  return error;
}

Failure not_found() { return fail(ErrorCode::NotFound, "there is no such workload"); }

}  // namespace

Result<Workloads> create(const NodeState& state, WorkloadId id, const Spec& asked, Time now,
                         const std::optional<LocalUser>& quota_user, const std::string& origin) {
  Spec spec = with_default_pool(state, TRY(filled(state, asked)), origin);
  if (requests_nothing(spec) && !spec.mba) {  // bandwidth without ways has its own error
    return fail_at(ErrorCode::BadRequest, "", "the workload requests no resources",
                   "at least one of cpu, cache, l2, pstate, policy and onload");
  }
  if (spec.cgroup_owner) spec.cgroup_owner->usage_us = used_time(state, spec);
  return grant(state, {.id = id, .spec = spec, .grant = {}, .created = now, .updated = now, .origin = origin}, {},
               std::nullopt, quota_user)
      .map_error([&](Error error) { return blaming_policy(state, spec, std::move(error)); });
}

Result<Workloads> create_on(const NodeState& state, const Workloads& workloads, WorkloadId id,
                            const CacheRequest& request, CacheId cache) {
  TRY(check_ways(state, request, cache));
  Workload workload{.id = id, .spec = {}, .grant = {}, .created = {}, .updated = {}};
  workload.spec.cpus = state.facts.rdt.main().caches.at(cache);
  workload.spec.cache = request;
  return grant_ways(state, workloads, std::move(workload), {});
}

Result<Workloads> change(const NodeState& state, const Workload& before, Spec spec, const char* emptied, Time now,
                         const std::optional<LocalUser>& quota_user) {
  if (spec == before.spec) return state.workloads;
  Workload workload = before;
  workload.spec = std::move(spec);
  workload.updated = now;
  if (requests_same(workload.spec, before.spec)) {
    TRY(check_names(state, workload.spec, before.id));
    Workloads workloads = state.workloads;
    workloads.put(std::move(workload));
    return workloads;
  }
  const Spec& asked = workload.spec;
  if (requests_nothing(asked)) {
    return fail_at(ErrorCode::BadRequest, emptied, "the workload would request no resources",
                   "delete the workload instead");
  }
  if (asked.core_ids.empty() && asked.tasks.empty() && !asked.has_group() && !asked.cpu) {
    return fail_at(ErrorCode::BadRequest, before.spec.cpu ? "/cpu" : "/task_ids",
                   "the workload would have no CPUs and no tasks", "delete the workload instead");
  }
  return grant(state, workload, before.grant, before.id, quota_user).map_error([&](Error error) {
    return blaming_policy(state, workload.spec, std::move(error));
  });
}

Result<Workloads> patch(const NodeState& state, WorkloadId id, const SpecPatch& patch, Time now,
                        const std::optional<LocalUser>& quota_user) {
  const Workload* found = find_in(state.workloads, id);
  if (!found) return not_found();
  Spec spec = TRY(with_changes(state, found->spec, patch));
  const char* emptied = removes(patch.cpu)     ? "/cpu"
                        : removes(patch.cache) ? "/cache"
                        : removes(patch.l2)    ? "/l2"
                        : patch.frequency      ? "/pstate"
                                               : "/onload";
  const bool is_object = patch.cpu && !patch.further_cpus;
  auto changed = change(state, *found, std::move(spec), emptied, now, quota_user);
  return is_object ? std::move(changed).map_error(of_object) : changed;
}

Result<Workloads> remove(const NodeState& state, WorkloadId id) {
  const Workload* found = find_in(state.workloads, id);
  if (!found) return not_found();
  Workloads workloads = state.workloads;
  workloads.erase(id);
  if (main_layout(state)) reclaim_free_ways(state, workloads, besteffort_caches(state, found->grant));
  return workloads;
}

Workloads without_tasks(const NodeState& state, const std::map<WorkloadId, std::vector<Task>>& left, Time now) {
  Workloads workloads = state.workloads;
  std::set<CacheId> freed;  // by best effort
  for (const auto& [id, tasks] : left) {
    Workload workload = state.workloads.at(id);
    const Grant before = workload.grant;
    workload.spec.tasks = tasks;
    workload.updated = now;
    const bool is_over = tasks.empty() && cpus_of(workload).empty();
    if (tasks.empty()) {
      workload.spec.task_cpus = {};
      const std::set<CacheId> touched = is_over ? std::set<CacheId>() : caches_of(state.facts.rdt, workload);
      // If all CPUs of a cache are offline its CPU list is unknown; it may be one of this workload's.
      std::erase_if(workload.grant.ways, [&](const auto& granted) {
        return !touched.contains(granted.first) && (is_over || state.facts.rdt.has(granted.first));
      });
      workload.grant.bandwidth = plan_bandwidth(state, workload.spec, workload.grant.ways);
    }
    for (const CacheId cache : besteffort_caches(state, before)) {
      if (!workload.grant.ways.contains(cache)) freed.insert(cache);
    }
    if (is_over) {
      workloads.erase(id);
    } else {
      workloads.put(std::move(workload));
    }
  }
  if (main_layout(state)) reclaim_free_ways(state, workloads, freed);
  return workloads;
}

}  // namespace nrd::plan
