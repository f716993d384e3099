#include "engine/plan/put.h"

#include <fmt/core.h>

#include <utility>

#include "engine/model/node_state.h"
#include "engine/plan/cpu_grant.h"
#include "engine/plan/grant.h"
#include "engine/plan/policy.h"
#include "engine/plan/spec.h"
#include "engine/plan/targets.h"

namespace nrd::plan {

Result<const Workload*> target_of(const NodeState& state, const Put& wanted) {
  const Workload* found = workload_with_id(state, wanted.spec.given_id);
  if (!found) {
    if (!wanted.known) return nullptr;
    return fail_at(ErrorCode::Stale, "If-Match", "there is no such workload", "no If-Match, to create it");
  }
  if (wanted.must_be_new) {
    return fail_at(ErrorCode::Stale, "If-None-Match", "the workload already exists", "no If-None-Match, to replace it");
  }
  if (wanted.known && *wanted.known != found->id) {
    return fail_at(ErrorCode::Stale, "If-Match", "the workload was deleted and another one created under its id",
                   "the current ETag of the workload");
  }
  if (wanted.only && found->spec.owner != wanted.only) {
    return fail_at(ErrorCode::IdTaken, "/id", "another workload has this id", "an id that no other workload has");
  }
  if (found->origin != wanted.origin && !wanted.is_forced) {
    return fail(ErrorCode::Forbidden, fmt::format("the workload has origin {}, not {}; only its source may change it",
                                                  found->origin, wanted.origin));
  }
  TRY(check_revision(state, found->id, wanted.if_revision));
  return found;
}

Result<Workloads> put(const NodeState& state, WorkloadId id, const Put& wanted, Time now) {
  const Workload* found = TRY(target_of(state, wanted));
  if (!found) return create(state, id, wanted.spec, now, wanted.quota_user, wanted.origin);
  Spec spec = with_default_pool(state, TRY(filled(state, wanted.spec)), found->origin);
  spec.given_id = found->spec.given_id;  // empty if nrd assigned it
  spec.quota_uid = found->spec.quota_uid;
  const bool is_same_group = spec.unit == found->spec.unit && spec.cgroup == found->spec.cgroup;
  if (spec.cgroup_owner && found->spec.cgroup_owner && is_same_group) {
    const uint32_t within_seconds = spec.cgroup_owner->within_seconds;
    spec.cgroup_owner = found->spec.cgroup_owner;
    spec.cgroup_owner->within_seconds = within_seconds;
  } else if (spec.cgroup_owner) {
    spec.cgroup_owner->usage_us = used_time(state, spec);
    spec.cgroup_owner->since = now;
  }
  // The CPUs on which the same tasks may run now do not change their grant.
  if (spec.tasks == found->spec.tasks) spec.task_cpus = found->spec.task_cpus;
  return change(state, *found, std::move(spec), "", now, wanted.quota_user);
}

}  // namespace nrd::plan
