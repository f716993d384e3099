#include "engine/workload_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/model/node_state.h"
#include "engine/owner_cleanup.h"
#include "engine/resolve.h"

namespace nrd {
namespace {

Failure forbidden(const char* field, const char* message, const char* allowed) {
  return fail_at(ErrorCode::Forbidden, field, message, allowed);
}

Result<void> check_own_tasks(const Requester& who, const std::vector<Task>& tasks) {
  const pid_t pid = who.caller ? who.caller->pid : 0;
  const bool are_own = std::ranges::all_of(tasks, [pid](const Task& task) { return task.process == pid; });
  if (!who.is_limited_to_own || are_own) return {};
  return forbidden("/task_ids", "the run role may only name tasks of the calling process",
                   "the calling process and its threads");
}

// With the workloads that the client may see; the ids of others are refused as unknown ones are.
NodeState seen_by(const NodeState& state, const OwnerFilter& filter) {
  Workloads seen;
  for (const auto& [id, workload] : state.workloads) {
    if (filter.admits(workload.spec.owner)) seen.put(workload);
  }
  return with_workloads(state, std::move(seen));
}

Result<void> check_apart(const NodeState& seen, const CpuRequest& request) {
  for (size_t i = 0; i < request.apart.size(); ++i) {
    if (workload_with_id(seen, request.apart[i])) continue;
    return fail_at(ErrorCode::BadRequest, fmt::format("/cpu/apart/{}", i), "there is no workload " + request.apart[i],
                   "ids of workloads");
  }
  return {};
}

// The CPUs near to what `request` names.
Result<std::vector<CpuSet>> near_of(const NodeState& state, const CpuRequest& request, const Requester& who,
                                    const OwnerWatcher& owners) {
  if (!who.is_limited_to_own) return find_near(state, request.near);
  const NodeState seen = seen_by(state, OwnerFilter(owners, who));
  TRY(check_apart(seen, request));
  return find_near(seen, request.near);
}

// The first request of a list stands for all: "/cpu/0/near/1".
Error in_list(Error error) {
  error.field.insert(std::string_view("/cpu").size(), "/0");
  return error;
}

// The process with all its threads.
Task as_task(const Owner& owner) {
  return {.id = owner.pid, .process = owner.pid, .start = owner.start, .boot_id = owner.boot_id};
}

// `only`: the owner to whose workloads the client is limited. Another client may have used the same key.
Result<void> check_owned(const Workload& created, const std::optional<Owner>& only, const std::string& origin) {
  if (only && created.spec.owner != only)
    return forbidden("Idempotency-Key", "the key belongs to a workload of another process", "a new key");
  if (created.origin != origin)
    return forbidden("Idempotency-Key", "the key belongs to a workload of another origin", "a new key");
  return {};
}

// After these errors the store may hold it nevertheless.
bool may_exist(const Result<Done>& outcome) {
  return outcome || outcome.error().code == ErrorCode::Store || outcome.error().code == ErrorCode::Frozen;
}

}  // namespace

const Workload* WorkloadService::find(const NodeState& state, const Requester& who, std::string_view id) const {
  const Workload* found = workload_with_id(state, id);
  return found && OwnerFilter(owners_, who).admits(found->spec.owner) ? found : nullptr;
}

Result<CreateWorkload> WorkloadService::command_of(const Requester& who, const NewWorkload& workload) const {
  if (workload.launch) TRY(launcher_->check(who));
  CreateWorkload command{
      .spec = workload.spec, .key = workload.key, .quota_user = quota_user_of(who), .origin = who.origin};
  if (workload.task_ids) {
    ResolvedTasks found = TRY(find_tasks(*workload.task_ids, engine_.state()->facts.boot_id));
    command.spec.tasks = std::move(found.tasks);
    command.spec.task_cpus = std::move(found.cpus);
  }
  if (who.is_limited_to_own && workload.spec.has_group())
    return forbidden(workload.spec.unit.empty() ? "/cgroup" : "/unit",
                     "the run role may only name tasks of the calling process", "task_ids, or none");
  if (workload.owner && workload.owner->cgroup) {
    command.spec.cgroup_owner = workload.owner->cgroup;
  } else if (workload.owner) {
    Owner owner = TRY(find_owner(owners_, *workload.owner, who.caller));
    command.spec.owner = std::move(owner);
  }
  if (workload.spec.cpu) {
    const auto near = near_of(*engine_.state(), *workload.spec.cpu, who, owners_);
    command.spec.near_cpus = TRY(workload.spec.further_cpus.empty() ? near : near.map_error(in_list));
  }
  // The client that asks for its own CPUs runs on them: nrdctl run.
  const bool names_tasks = workload.task_ids || workload.spec.has_group();
  if (workload.spec.cpu && !names_tasks && command.spec.owner && !workload.owner->pid) {
    command.spec.tasks = {as_task(*command.spec.owner)};
    command.spec.runs_caller = true;
  }
  TRY(check_own_tasks(who, command.spec.tasks));
  return command;
}

Result<PatchWorkload> WorkloadService::command_of(const Requester& who, const WorkloadPatch& patch) const {
  if (patch.launch) TRY(launcher_->check(who));
  PatchWorkload command{
      .id = patch.id, .patch = patch.patch, .if_revision = patch.if_revision, .quota_user = quota_user_of(who)};
  command.only = TRY(only_owner_of(owners_, who));
  if (patch.task_ids) {
    ResolvedTasks found = TRY(find_tasks(*patch.task_ids, engine_.state()->facts.boot_id));
    TRY(check_own_tasks(who, found.tasks));
    command.patch.tasks = std::move(found.tasks);
    command.patch.task_cpus = std::move(found.cpus);
  }
  if (patch.patch.cpu && *patch.patch.cpu) {
    const auto near = near_of(*engine_.state(), (*patch.patch.cpu)->values, who, owners_);
    const auto& further = patch.patch.further_cpus;
    command.patch.near_cpus = TRY(!further || further->empty() ? near : near.map_error(in_list));
  }
  return command;
}

Result<PutWorkload> WorkloadService::command_of(const Requester& who, const WorkloadReplacement& replacement) const {
  PutWorkload command{.origin = who.origin,
                      .is_forced = replacement.is_forced,
                      .must_be_new = replacement.must_be_new,
                      .known = replacement.known,
                      .if_revision = replacement.if_revision};
  command.only = TRY(check_own(owners_, who, replacement.workload.owner));
  command.quota_user = quota_user_of(who);
  command.spec = TRY(command_of(who, replacement.workload)).spec;
  return command;
}

void WorkloadService::admit(const Requester& who, const LaunchRequest& launch, Command command,
                            const Launcher::Admitted& then) const {
  if (!launch) return then(std::move(command), nullptr);
  launcher_->admit(who, launch, *engine_.state(), std::move(command), then);
}

void WorkloadService::submit_admitted(const Requester& who, const LaunchRequest& launch, const Command& command,
                                      const std::optional<Owner>& owner, const Answer<Changed>& done) const {
  admit(who, launch, command,
        [&engine = engine_, &owners = owners_, client = who.client, owner, done](const Result<Command>& admitted,
                                                                                 const Launch& environment) {
          if (!admitted) return done(Failure(admitted.error()));
          const auto answer = [&engine, &owners, owner, done, environment](const Result<Done>& outcome) {
            if (owner && may_exist(outcome)) end_with_owner(engine, owners, *owner);
            done(outcome.map([&environment](const Done& changed) { return Changed{changed, environment}; }));
          };
          engine.submit(*admitted, {answer, client});
        });
}

// Replays the outcome if the key of `workload` was used, otherwise calls `first_time`. Both run on the thread of the
// request, because the engine thread may outlive the launcher.
void WorkloadService::replay_or(const Requester& who, const NewWorkload& workload, const std::optional<Owner>& only,
                                const Answer<Changed>& done, const std::function<void()>& first_time) const {
  // Whatever the launcher would admit now.
  const auto replay = [launcher = launcher_, request = workload.launch, done](const Done& created) {
    if (!request) return done(Changed{created});
    launcher->replay(request, created.workload, [created, done](Launch launch) {
      done(Changed{created, std::move(launch)});
    });
  };
  const auto found = [only, origin = who.origin, done, first_time, replay,
                      later = who.later](const Result<Done>& outcome) {
    const Result<Done> created = outcome.and_then(
        [&](const Done& known) { return check_owned(known.workload, only, origin).map([&known] { return known; }); });
    if (!created && created.error().code != ErrorCode::NotFound) return done(Failure(created.error()));
    later([created, first_time, replay] { created ? replay(*created) : first_time(); });
  };
  engine_.find_created(*workload.key, {found, who.client});
}

void WorkloadService::create(const Requester& who, const NewWorkload& workload, Answer<Changed> done) const {
  const Result<std::optional<Owner>> only = check_own(owners_, who, workload.owner);
  if (!only) return done(Failure(only.error()));
  const Result<CreateWorkload> command = command_of(who, workload);
  if (!command) {
    const auto refuse = [done, error = command.error()] { done(Failure(error)); };
    // A task or the owner may have exited since the original request.
    const bool may_be_replay = workload.key && command.error().code != ErrorCode::Forbidden;
    return may_be_replay ? replay_or(who, workload, *only, done, refuse) : refuse();
  }
  const auto checked = [only = *only, origin = who.origin, done](const Result<Changed>& created) {
    done(created.and_then([&](const Changed& known) {
      return check_owned(known.done.workload, only, origin).map([&known] { return known; });
    }));
  };
  const auto submit = [this, who, launch = workload.launch, command = *command, checked] {
    submit_admitted(who, launch, command, command.spec.owner, checked);
  };
  // Do not admit a replayed request a second time.
  if (workload.launch && workload.key) return replay_or(who, workload, *only, done, submit);
  submit();
}

void WorkloadService::patch(const Requester& who, const WorkloadPatch& patch, Answer<Changed> done) const {
  const Result<PatchWorkload> command = command_of(who, patch);
  if (!command) return done(Failure(command.error()));
  submit_admitted(who, patch.launch, *command, std::nullopt, done);
}

void WorkloadService::put(const Requester& who, const WorkloadReplacement& replacement, Answer<Changed> done) const {
  const Result<PutWorkload> command = command_of(who, replacement);
  if (!command) return done(Failure(command.error()));
  submit_admitted(who, replacement.workload.launch, *command, command->spec.owner, done);
}

void WorkloadService::remove(const Requester& who, DeleteWorkload command, const Answer<Changed>& done) const {
  const Result<std::optional<Owner>> only = only_owner_of(owners_, who);
  if (!only) return done(Failure(only.error()));
  command.only = *only;
  const auto answer = [done](const Result<Done>& outcome) {
    done(outcome.map([](const Done& removed) { return Changed{removed}; }));
  };
  engine_.submit(std::move(command), {answer, who.client});
}

template <typename Request>
void WorkloadService::dry_run_admitted(const Requester& who, const Request& request, const LaunchRequest& launch,
                                       const Answer<Done>& done) const {
  const auto command = command_of(who, request);
  if (!command) return done(Failure(command.error()));
  // Until the answer, the launch environment holds the place among the allocations.
  admit(who, launch, *command,
        [&engine = engine_, client = who.client, done](const Result<Command>& admitted, const Launch& environment) {
          if (!admitted) return done(Failure(admitted.error()));
          engine.dry_run(*admitted, {[done, environment](const Result<Done>& outcome) { done(outcome); }, client});
        });
}

void WorkloadService::dry_run(const Requester& who, const NewWorkload& workload, const Answer<Done>& done) const {
  const Result<std::optional<Owner>> only = check_own(owners_, who, workload.owner);
  if (!only) return done(Failure(only.error()));
  dry_run_admitted(who, workload, workload.launch, done);
}

void WorkloadService::dry_run(const Requester& who, const WorkloadPatch& patch, const Answer<Done>& done) const {
  dry_run_admitted(who, patch, patch.launch, done);
}

void WorkloadService::dry_run(const Requester& who, const WorkloadReplacement& replacement,
                              const Answer<Done>& done) const {
  dry_run_admitted(who, replacement, replacement.workload.launch, done);
}

}  // namespace nrd
