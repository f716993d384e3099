#include "engine/transaction/transaction.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "engine/model/baselines.h"
#include "engine/model/setting.h"
#include "engine/plan/spec.h"

namespace nrd {
namespace {

// A client-chosen id read as a number; 0: it is none.
uint64_t number_of(const std::string& given_id) {
  // Numbers that a client's double represents exactly. All above remain for ids that nrd assigns.
  constexpr uint64_t kLargest = uint64_t{1} << 53;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(given_id.data(), given_id.data() + given_id.size(), number);
  const bool is_number = error == std::errc() && end == given_id.data() + given_id.size();
  return is_number && number <= kLargest ? number : 0;
}

}  // namespace

Transaction::Transaction(Hardware& hardware, store::Store& store, const Clock& clock, const EngineOptions& options)
    : hardware_(hardware), store_(store), clock_(clock), options_(options) {
  state_.config = std::make_shared<const NodeConfig>(options.node);
}

// Do not touch unclaimed settings: they could not be restored. Tasks moving back need no claim.
void Transaction::leave_out_unclaimed(Setting& setting, const Baselines& baselines) {
  std::erase_if(setting.pstate.cpus, [&](const auto& entry) { return !baselines.frequencies.contains(entry.first); });
  std::erase_if(setting.rdt.tasks, [&](const auto& entry) {
    return entry.second != ClosId{0} && !baselines.tasks.contains({entry.first, entry.second});
  });
}

// The only place that increments revisions: for a patch, and for a best-effort workload that shrinks for a new one.
void Transaction::count_revisions(const Workloads& before, Workloads& after) {
  std::vector<Workload> changed;
  for (const auto& [id, workload] : after) {
    const auto old = before.find(id);
    if (old == before.end() || old->second == workload) continue;
    changed.push_back(workload);
    changed.back().revision = old->second.revision + 1;
  }
  for (Workload& workload : changed) after.put(std::move(workload));
}

Result<void> Transaction::discover() {
  NodeFacts facts = TRY(hardware_.discover());
  state_.layout.reset();
  state_.l2_layout.reset();
  if (facts.rdt.cat) {
    const PoolPartition layout = TRY(plan_layout(*facts.rdt.cat, state_.config->pools));
    if (const Result<void> checked = check_reserved_cpus(state_.config->groups, facts.rdt, layout); !checked)
      return checked;
    state_.layout = layout;
    if (facts.rdt.l2_cat) state_.l2_layout = plan_l2_layout(*facts.rdt.l2_cat);
  }
  state_.facts = std::move(facts);
  return {};
}

// Adds processes that match now, and removes those that no longer match.
Result<void> Transaction::refresh_infra() {
  if (state_.config->groups.infra_processes.empty() || !state_.layout) return {};
  const Result<std::set<Task>> found =
      hardware_.find_processes(state_.config->groups.infra_processes, state_.config->groups.infra_users);
  if (!found) return Failure(found.error());
  state_.infra_tasks.clear();
  for (Task task : *found) {
    task.boot_id = state_.facts.boot_id;
    state_.infra_tasks.insert(std::move(task));
  }
  return {};
}

Result<void> Transaction::refresh(const CpuSet& frequencies, const Baselines& others) {
  std::set<Task> tasks = known_tasks(state_);
  for (const auto& [task, clos] : others.tasks) tasks.insert(task);
  Observed observed = TRY(hardware_.observe(frequencies, tasks));
  std::map<CpuId, pstate::FrequencySetting> known = observed.pstate.cpus;
  for (const auto& [cpu, knobs] : state_.observed.pstate.cpus) {
    const bool is_there = state_.facts.pstate.cpus.contains(cpu);
    if (is_there && !frequencies.contains(cpu)) known.emplace(cpu, knobs);
  }
  observed.pstate.cpus = std::move(known);
  state_.observed = std::move(observed);
  return {};
}

Result<void> Transaction::recover() {
  TRY(discover());
  const store::Records records = TRY(store_.load());
  Workloads::Index& workloads = state_.workloads.edit();
  for (const store::WorkloadRecord& record : records.workloads) {
    const Workload workload = TRY(from_record(record));
    workloads[workload.id] = std::make_shared<const Workload>(workload);
  }
  state_.next_id = records.next_id;
  keys_.load(records.keys);
  state_.revision = records.revision;
  // Drop baselines of another boot: the registers have been reset since.
  if (records.baselines.boot_id == state_.facts.boot_id) state_.baselines = baselines_of(records.baselines);
  state_.made_groups = state_.baselines.groups;
  stored_ = state_.durable();

  const Result<void> refreshed =
      refresh_infra().and_then([this] { return refresh(cpus_of(state_.facts.pstate.cpus)); });
  if (!refreshed) {
    note_hardware_problem(refreshed.error());
    return {};
  }
  remove_leftovers(leftover_groups(state_));
  const Result<void> converged = claim(state_).and_then([&] { return converge(state_, Scope::All); });
  if (!converged) note_hardware_problem(converged.error());
  drop_exited();
  note_sharing();
  return {};
}

Result<Workloads> Transaction::plan(const Command& command) {
  const Time time = now();
  if (const auto* create = std::get_if<CreateWorkload>(&command)) {
    return plan::create(state_, WorkloadId{state_.next_id}, create->spec, time);
  }
  if (const auto* patch = std::get_if<PatchWorkload>(&command)) {
    return plan::patch(state_, patch->id, patch->patch, time);
  }
  return plan::remove(state_, std::get<DeleteWorkload>(command).id);
}

// A plan that touches unclaimed settings needs a fresh observation: other software may have changed them since the last
// one.
Result<NodeState> Transaction::plan_on_fresh_observation(const Command& command) {
  const bool has_seen_groups = TRY(refresh_foreign_groups());
  Result<Workloads> planned = plan(command);
  if (!planned) return Failure(planned.error());
  NodeState wanted = state_;
  wanted.workloads = *std::move(planned);
  const Setting setting = setting_of(wanted);
  const Baselines added = unclaimed(wanted, setting);
  const CpuSet frequencies = cpus_of(added.frequencies) | unreadable(wanted, setting);
  if (added == Baselines{} && frequencies.empty()) return wanted;
  if (has_seen_groups && added.tasks.empty() && frequencies.empty()) return wanted;
  TRY(refresh(frequencies, added));
  if (state_.observed == wanted.observed) return wanted;
  planned = plan(command);
  if (!planned) return Failure(planned.error());
  wanted.observed = state_.observed;
  wanted.workloads = *std::move(planned);
  return wanted;
}

// Foreign groups appear, disappear and change without notice. While there is none, comparing the group names is enough.
Result<bool> Transaction::refresh_foreign_groups() {
  if (!state_.layout) return false;
  const Result<std::set<std::string>> names = hardware_.group_names();
  if (names && *names == group_names(state_.observed.rdt) && foreign_groups(state_).empty()) return false;
  return refresh({}).map([] { return true; });  // also mounts a missing resctrl tree where nrd may
}

// The claim stays, so that the next workload in that class needs no commit before its group is created. A group that
// appears there meanwhile was created by other software.
void Transaction::note_removed_groups(const rdt::Setting& setting) {
  for (const ClosId clos : setting.removed) state_.made_groups.erase(clos);
}

Result<void> Transaction::claim(NodeState& wanted) {
  wanted.baselines = state_.baselines;
  wanted.observed = state_.observed;
  const Setting setting = setting_of(wanted);
  // Do not touch what could not be restored.
  if (const CpuSet cpus = unreadable(wanted, setting); !cpus.empty()) {
    return fail(ErrorCode::Hardware, "the frequency of CPU " + cpus.to_string() + " cannot be read now; try again");
  }
  const Baselines added = unclaimed(wanted, setting);
  if (added == Baselines{}) return {};
  merge(state_.baselines, added);
  store::Change change;
  // The first claim of a boot replaces the stored baselines of the previous boot.
  if (stored_.baselines == Baselines{}) change.new_boot_id = state_.facts.boot_id;
  add_baselines(change, added);
  return commit(std::move(change), Part::Baselines);
}

Result<void> Transaction::converge(NodeState& wanted, Scope scope) {
  wanted.baselines = state_.baselines;
  wanted.made_groups = state_.made_groups;
  Setting setting = setting_of(wanted);
  if (scope == Scope::Changes) setting = changes(std::move(setting), setting_of(state_));
  leave_out_unclaimed(setting, state_.baselines);
  state_.made_groups.insert(setting.rdt.made.begin(), setting.rdt.made.end());
  const auto begun = clock_.steady();
  const Result<CpuSet> left = hardware_.converge(setting);
  state_.timings.converge.add(clock_.steady() - begun);
  // A partial write says nothing about the other settings.
  in_sync_ = left.has_value() && (in_sync_ || scope == Scope::All);
  if (!left) return Failure(left.error());
  note_removed_groups(setting.rdt);
  for (const CpuId cpu : left->members()) {
    if (setting.pstate.cpus.erase(cpu) > 0) note_absent(cpu);
    if (setting.pstate.put_back.erase(cpu) > 0) note_pending_restore(cpu);
  }
  for (const auto& [cpu, before] : setting.pstate.put_back) pending_restore_.remove(cpu);
  note_absent_cpus();
  state_.observed = with_applied(std::move(state_.observed), setting);
  if (scope == Scope::All) state_.health.hardware_problem.clear();
  return {};
}

// The CPU has gone offline since the last refresh; the next one handles the rest.
void Transaction::note_absent(CpuId cpu) {
  state_.facts.rdt.online.remove(cpu);
  if (state_.observed.pstate.cpus.contains(cpu)) state_.observed.pstate.cpus.edit().erase(cpu);
}

void Transaction::note_pending_restore(CpuId cpu) {
  if (pending_restore_.contains(cpu)) return;
  pending_restore_.add(cpu);
  if (!state_.facts.rdt.online.contains(cpu)) return;
  log::warning("FREQUENCY_OWED", "cannot restore CPU frequency; will retry", {{"CPU", std::to_string(cpu.value)}});
}

// Drop the baselines of restored settings without a workload: other software may change them from now on.
void Transaction::drop_restored_baselines(store::Change& change) {
  change.dropped_frequency_baselines = drop_restored_frequencies();
  change.dropped_task_claims = drop_restored_tasks();
}

std::vector<CpuId> Transaction::drop_restored_frequencies() {
  std::vector<CpuId> dropped;
  if (!in_sync_ || state_.baselines.frequencies.empty()) return dropped;
  for (const auto& [cpu, before] : setting_of(state_).pstate.put_back) {
    if (!pending_restore_.contains(cpu)) dropped.push_back(cpu);
  }
  if (dropped.empty()) return dropped;
  std::map<CpuId, pstate::FrequencySetting>& claimed = state_.baselines.frequencies.edit();
  for (const CpuId cpu : dropped) {
    claimed.erase(cpu);
    state_.baselines.frequencies_of_others.erase(cpu);
  }
  return dropped;
}

std::vector<store::TaskClaim> Transaction::drop_restored_tasks() {
  std::vector<store::TaskClaim> dropped;
  if (!in_sync_ || state_.baselines.tasks.empty()) return dropped;
  dropped = finished_task_claims(state_);
  for (const store::TaskClaim& claim : dropped) state_.baselines.tasks.erase(claim);
  return dropped;
}

void Transaction::rollback() {
  // The write may have failed because CPUs went online or offline since the last refresh.
  [[maybe_unused]] const Result<void> found = discover();
  const Result<void> converged = converge(state_, Scope::All);
  if (converged) return;
  note_hardware_problem(converged.error());
  // If that fails too, the last observation stays, and the next refresh tries again.
  [[maybe_unused]] const Result<void> refreshed = refresh(cpus_of(state_.facts.pstate.cpus));
}

void Transaction::note_absent_cpus() {
  for (const auto& [cpu, before] : state_.baselines.frequencies) {
    if (!state_.facts.pstate.cpus.contains(cpu)) pending_restore_.add(cpu);
  }
}

Result<std::optional<WorkloadId>> Transaction::created_before(const Command& command) const {
  const auto* create = std::get_if<CreateWorkload>(&command);
  if (!create || !create->key) return std::optional<WorkloadId>();
  Result<std::optional<WorkloadId>> found = keys_.find(*create->key, now());
  if (!found || !*found || state_.workloads.contains(**found)) return found;
  return fail_at(ErrorCode::Conflict, "Idempotency-Key", "the workload created with this key has been deleted",
                 "a new key for a new workload");
}

Result<void> Transaction::check_revision(const Command& command) const {
  if (const auto* patch = std::get_if<PatchWorkload>(&command)) {
    return plan::check_revision(state_, patch->id, patch->if_revision);
  }
  const auto* remove = std::get_if<DeleteWorkload>(&command);
  return remove ? plan::check_revision(state_, remove->id, remove->if_revision) : Result<void>();
}

// Assign each number once, and skip those that clients have chosen.
void Transaction::note_created(const CreateWorkload& create) {
  if (create.key) keys_.add(*create.key, WorkloadId{state_.next_id}, now());
  state_.next_id = std::max(state_.next_id, number_of(create.spec.given_id)) + 1;
}

// Plan again if CPUs or groups have changed since the plan was made.
Result<WorkloadId> Transaction::apply_one(const Command& command) {
  const CpuSet online = state_.facts.rdt.online;
  const std::set<std::string> groups = group_names(state_.observed.rdt);
  Result<WorkloadId> applied = try_one(command);
  if (applied || unknown_) return applied;
  const ErrorCode code = applied.error().code;
  if (code != ErrorCode::Hardware && code != ErrorCode::NoClass) return applied;
  const Result<void> refreshed = refresh({});
  const bool has_changed =
      state_.facts.rdt.online != online || (refreshed && group_names(state_.observed.rdt) != groups);
  return has_changed ? try_one(command) : applied;
}

Result<WorkloadId> Transaction::try_one(const Command& command) {
  const std::optional<WorkloadId> created = TRY(created_before(command));
  if (created) return *created;
  if (const auto* create = std::get_if<CreateWorkload>(&command); create && create->only_asks) {
    return fail(ErrorCode::NotFound, "no workload was created with this key");
  }
  TRY(check_revision(command));
  NodeState wanted = TRY(plan_on_fresh_observation(command));
  count_revisions(state_.workloads, wanted.workloads);
  WorkloadId id{state_.next_id};
  if (const auto* patch = std::get_if<PatchWorkload>(&command)) id = patch->id;
  if (const auto* remove = std::get_if<DeleteWorkload>(&command)) id = remove->id;
  if (wanted.workloads == state_.workloads) return id;

  // A process that holds a lock blocks every write, so do not begin one.
  TRY(check_counters(wanted)
          .and_then([&] { return hardware_.await_locks(); })
          .and_then([&] { return restore(wanted); })
          .and_then([&] { return claim(wanted); }));
  if (const Result<void> converged = converge(wanted, Scope::Changes); !converged) {
    log::error("CONVERGE_FAILED", converged.error().message, {{"DETAIL", converged.error().detail}});
    rollback();
    return Failure(converged.error());
  }
  state_.workloads = std::move(wanted.workloads);
  if (const auto* create = std::get_if<CreateWorkload>(&command)) note_created(*create);
  return id;
}

std::vector<Result<Workload>> Transaction::apply(std::span<const Command> commands) {
  std::vector<Result<Workload>> outcomes;
  if (unknown_) {
    if (const Result<void> resolved = resolve_unknown(); !resolved) {
      outcomes.assign(commands.size(), Failure(resolved.error()));
      return outcomes;
    }
  }
  for (const Command& command : commands) {
    if (unknown_) {  // the claim of an earlier command
      outcomes.push_back(fail(ErrorCode::Frozen, "store state unknown; change rejected, try again"));
      continue;
    }
    // Answer a delete with the workload as it was, and the others with their state after the batch.
    std::optional<Workload> deleted;
    if (const auto* remove = std::get_if<DeleteWorkload>(&command)) {
      const auto found = state_.workloads.find(remove->id);
      if (found != state_.workloads.end()) deleted = found->second;
    }
    const Result<WorkloadId> applied = apply_one(command);
    reset_governor();
    if (!applied) {
      outcomes.push_back(Failure(applied.error()));
    } else {
      outcomes.push_back(deleted ? *deleted : state_.workloads.at(*applied));
    }
  }
  // If the outcome of a claim is unknown, the whole batch is already rolled back.
  const Result<void> committed =
      unknown_ ? fail(ErrorCode::Frozen, "store state unknown; change rejected, try again") : commit_workloads();
  if (committed) {
    keys_.keep_added(now());
  } else {
    keys_.drop_added();
  }
  // Claims of commands that failed, and of those that cancelled each other.
  if (!unknown_) forget_restored();
  if (!committed) {
    for (Result<Workload>& outcome : outcomes) {
      if (outcome) outcome = Failure(committed.error());
    }
    return outcomes;
  }
  for (Result<Workload>& outcome : outcomes) {
    if (!outcome) continue;
    const auto found = state_.workloads.find(outcome->id);
    if (found != state_.workloads.end()) outcome = found->second;
  }
  note_sharing();
  return outcomes;
}

void Transaction::note_hardware_problem(const Error& error) {
  if (state_.health.hardware_problem != error.message) {
    log::error("HARDWARE_PROBLEM", error.message, {{"DETAIL", error.detail}});
  }
  state_.health.hardware_problem = error.message;
}

}  // namespace nrd
