#include "engine/transaction/transaction.h"

#include <algorithm>
#include <utility>

#include "base/find_in.h"
#include "base/log.h"
#include "base/number.h"
#include "engine/model/baselines.h"
#include "engine/model/confinement.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/cpu_shares.h"
#include "engine/plan/grant.h"
#include "engine/plan/spec.h"
#include "engine/transaction/conflict_watch.h"
#include "engine/transaction/proposal.h"

namespace nrd {
namespace {

// While it exists, all that the hardware does is for one request.
class RequestTime {
 public:
  explicit RequestTime(Hardware& hardware) : hardware_(hardware) { hardware_.begin_request(); }
  ~RequestTime() { hardware_.end_request(); }
  RequestTime(const RequestTime&) = delete;
  RequestTime& operator=(const RequestTime&) = delete;

 private:
  Hardware& hardware_;
};

constexpr uint64_t kLargestCounted = uint64_t{1} << 53;  // up to it a client's double represents all numbers

// A client-chosen id read as a number; 0: it is none, or one that is not counted.
uint64_t number_of(const std::string& given_id) {
  const uint64_t number = parse_number<uint64_t>(given_id).value_or(0);
  return number <= kLargestCounted ? number : 0;
}

bool may_see(const Command& command, const Workload& workload) {
  const auto is_for = [&workload](const auto& each) {
    if constexpr (requires { each.only; }) return !each.only || workload.spec.owner == each.only;
    return true;
  };
  return std::visit(is_for, command);
}

std::optional<Workload> deleted_by(const NodeState& state, const Command& command) {
  const auto* remove = std::get_if<DeleteWorkload>(&command);
  const Workload* found = remove ? find_in(state.workloads, remove->id) : nullptr;
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace

Transaction::Transaction(Hardware& hardware, store::Store& store, const Clock& clock, NodeConfig config,
                         std::function<void()> memory_changed)
    : hardware_(hardware),
      clock_(clock),
      sync_(hardware, clock, state_),
      commits_(store, clock, state_, sync_),
      claims_(hardware, state_, commits_),
      externals_(hardware, state_, sync_, commits_),
      governor_(hardware, clock, state_, sync_, externals_),
      groups_(state_, sync_),
      changes_(hardware, clock, state_, sync_, commits_, claims_, externals_, governor_),
      reaper_(clock, state_, sync_, commits_, claims_, changes_),
      drift_(hardware, state_, sync_, commits_, claims_, externals_, groups_, reaper_),
      reconfigure_(hardware, state_, sync_, commits_, claims_, groups_),
      memory_(hardware, clock, state_, sync_, commits_, claims_, std::move(memory_changed)) {
  state_.config = std::make_shared<const NodeConfig>(std::move(config));
  hardware_.set_systemd_timeout(state_.config->systemd_timeout);
}

Result<void> Transaction::recover() {
  TRY(sync_.discover());
  NodeConfig config = TRY(with_resolved_pools(*state_.config, state_.facts));
  TRY(commits_.load());
  if (config.confinement != Confinement::None && !must_confine(state_)) {
    // While the host starts, systemd may be too busy to answer.
    if (const auto pinned = hardware_.pinned_services()) TRY(check_pinned_units(config, state_.facts, *pinned));
  }
  state_.config = std::make_shared<const NodeConfig>(std::move(config));
  sync_.adapt_to_node(state_.facts.pstate);
  state_.made_groups = state_.baselines.groups;
  const Result<void> refreshed = sync_.refresh_with_infra(cpus_of(state_.facts.pstate.cpus));
  if (!refreshed) {
    sync_.note_problem(refreshed.error());
    return {};
  }
  sync_.refresh_noise();
  groups_.remove_leftovers();
  Proposal stored{state_.workloads, setting_of(state_)};
  const Result<void> converged = claims_.claim(stored).and_then(
      [&] { return sync_.converge(std::move(stored.setting), HardwareSync::Scope::All); });
  if (!converged) sync_.note_problem(converged.error());
  // What a unit outside nrd.slice has lost to a confinement that is new shows only now.
  if (state_.config->confinement != Confinement::None) {
    if (const auto seen = sync_.refresh({}); !seen) sync_.note_problem(seen.error());
  }
  reaper_.remove_ended();
  changes_.grant_lost_ways();
  // Claims of requests that died before their commit.
  if (!commits_.is_unknown()) commits_.release_restored();
  groups_.report_sharing();
  refresh_conflicts(hardware_, state_);
  memory_.start_next();
  sync_.report_problem();
  return {};
}

void Transaction::repair() {
  drift_.repair({});
  changes_.grant_lost_ways();
  memory_.retry_releases();
  memory_.start_next();
  sync_.report_problem();
}

Result<void> Transaction::record(store::DocumentChange operations) {
  TRY(commits_.resolve());
  store::Change change;
  change.operations = std::move(operations);
  return commits_.commit_baselines(std::move(change));
}

bool Transaction::note_partition() {
  if (!observed_partition(state_)) return false;
  std::string kind = hardware_.partition();
  for (auto& [target, masks] : state_.observed.cpuset.targets) {
    if (target.kind != cpuset::Target::Kind::Partition || masks.partition == kind) continue;
    masks.partition = std::move(kind);
    return true;
  }
  return false;
}

bool Transaction::has_invalid_partition() const {
  const std::optional<cpuset::Masks> partition = observed_partition(state_);
  return partition && !partition->cpus.empty() && partition->partition != "root";
}

bool Transaction::serve_hotplug(const CpuSet& changed) {
  drift_.repair(changed);
  return sync_.is_in_sync() &&
         std::ranges::all_of(state_.workloads, [this](const auto& entry) { return is_applied(state_, entry.second); });
}

Result<Workloads> Transaction::plan(const Command& command) {
  const Time time = now(clock_);
  if (const auto* create = std::get_if<CreateWorkload>(&command)) {
    return plan::create(state_, WorkloadId{state_.next_id}, create->spec, time, create->quota_user, create->origin);
  }
  if (const auto* patch = std::get_if<PatchWorkload>(&command)) {
    return plan::patch(state_, patch->id, patch->patch, time, patch->quota_user);
  }
  if (const auto* put = std::get_if<PutWorkload>(&command)) {
    return plan::put(state_, WorkloadId{state_.next_id}, *put, time);
  }
  return plan::remove(state_, std::get<DeleteWorkload>(command).id);
}

// A plan that touches unclaimed settings needs a fresh observation: other software may have changed them since the last
// one.
Result<Proposal> Transaction::plan_on_fresh_observation(const Command& command) {
  const bool has_seen_groups = TRY(sync_.refresh_foreign_groups());
  // Whether it exists and which CPUs its parent has decides what can be planned.
  if (const auto named = new_group(command)) {
    const CpuRequest* request = cpu_request_of(command);
    const bool needs_memory = request && request->memory == CpuRequest::Memory::Near;
    TRY(sync_.refresh({}, {},
                      {.targets = {*named}, .memory = needs_memory ? std::set{*named} : std::set<cpuset::Target>()}));
  }
  Workloads planned = TRY(plan(command));
  Proposal proposal = propose(state_, std::move(planned));
  const NodeState wanted = with_workloads(state_, proposal.workloads);
  const Baselines added = unclaimed(wanted, proposal.setting);
  const CpuSet frequencies = cpus_of(added.frequencies) | unreadable(wanted, proposal.setting);
  const bool has_observed_targets = !has_unobserved(wanted);
  // One that has started since has memory, which is not released on this thread.
  const bool releases_memory = !proposal.setting.cpuset.restored_memory.empty();
  if (added == Baselines{} && frequencies.empty() && has_observed_targets && !releases_memory) return proposal;
  const bool has_observed_all = added.tasks.empty() && added.cpu_sets.empty() && added.cpu_shares.empty() &&
                                added.memory.empty() && added.latency.empty() && has_observed_targets &&
                                !releases_memory;
  if (has_seen_groups && has_observed_all && frequencies.empty()) return proposal;
  TRY(sync_.refresh(
      frequencies, added.tasks,
      {.targets = known_targets(wanted), .shares = targets_with_share(wanted), .memory = targets_with_memory(wanted)}));
  if (state_.observed == wanted.observed) return proposal;
  planned = TRY(plan(command));
  return propose(state_, std::move(planned));
}

Result<std::optional<WorkloadId>> Transaction::created_with(const IdempotencyKey& key) const {
  Result<std::optional<WorkloadId>> found = commits_.keys().find(key, commits_.key_time());
  if (!found || !*found || state_.workloads.contains(**found)) return found;
  return fail_at(ErrorCode::Conflict, "Idempotency-Key", "the workload created with this key has been deleted",
                 "a new key for a new workload");
}

Result<Done> Transaction::find_created(const IdempotencyKey& key) {
  TRY(commits_.resolve());
  const std::optional<WorkloadId> found = TRY(created_with(key));
  if (found) return Done{.workload = state_.workloads.at(*found)};
  return fail(ErrorCode::NotFound, "no workload was created with this key");
}

// Assign each number once, and skip those that clients have chosen.
void Transaction::note_created(const Workload& created) {
  state_.next_id = std::max(created.id.value, number_of(created.spec.given_id)) + 1;
}

// Clients may have chosen some above the numbers that note_created() counts.
void Transaction::skip_chosen_ids() {
  if (state_.next_id <= kLargestCounted) return;
  while (workload_with_id(state_, std::to_string(state_.next_id))) ++state_.next_id;
}

// The workload that the client knows in its present revision and may change, and whose memory does not move; the next
// id for one that does not exist yet.
Result<WorkloadId> Transaction::target_of(const Command& command) {
  skip_chosen_ids();
  WorkloadId id{state_.next_id};
  const auto take = [&](const auto& known) -> Result<void> {
    id = known.id;
    // A command before this one may have given it to another owner.
    TRY(plan::check_owner(state_, known.id, known.only));
    return plan::check_revision(state_, known.id, known.if_revision);
  };
  if (const auto* patch = std::get_if<PatchWorkload>(&command)) TRY(take(*patch));
  if (const auto* remove = std::get_if<DeleteWorkload>(&command)) TRY(take(*remove));
  if (const auto* put = std::get_if<PutWorkload>(&command)) {
    const Workload* found = TRY(plan::target_of(state_, *put));
    if (found) id = found->id;
  }
  TRY(memory_.check(command, id));
  return id;
}

// Plan again if the node, possible frequencies or groups have changed since the plan was made.
Result<Transaction::Tried> Transaction::apply_one(const Command& command) {
  const RequestTime time(hardware_);
  const NodeFacts facts = state_.facts;
  const std::optional<bool> turbo = state_.observed.pstate.turbo;
  const std::set<std::string> groups = group_names(state_.observed.rdt);
  Result<Tried> applied = try_one(command);
  if (applied || commits_.is_unknown()) return applied;
  const ErrorCode code = applied.error().code;
  // resctrl may have been mounted.
  const bool lacks_caches = code == ErrorCode::Unsupported && !main_layout(state_);
  if (code != ErrorCode::Hardware && code != ErrorCode::NoClass && !lacks_caches) return applied;
  const Result<void> found = code == ErrorCode::NoClass ? Result<void>() : sync_.discover();
  const Result<void> refreshed = found.and_then([this] { return sync_.refresh({}); });
  const bool has_changed = state_.facts != facts || state_.observed.pstate.turbo != turbo ||
                           (refreshed && group_names(state_.observed.rdt) != groups);
  return has_changed ? try_one(command) : applied;
}

Result<Transaction::Tried> Transaction::try_one(const Command& command) {
  if (const CpuRequest* request = cpu_request_of(command); request && !request->among.empty())
    return fail_at(ErrorCode::BadRequest, lists_pools(command) ? "/cpu/0/among" : "/cpu/among",
                   "is only allowed in a dry run", "dry_run=true, or leave it out");
  const auto* create = std::get_if<CreateWorkload>(&command);
  if (create && create->key) {
    const std::optional<WorkloadId> created = TRY(created_with(*create->key));
    if (created) return Tried{*created};
  }
  const WorkloadId id = TRY(target_of(command));
  Proposal proposal = TRY(plan_on_fresh_observation(command));
  const bool is_new = id.value == state_.next_id;
  Tried tried{id};
  if (const auto move = move_before(command, proposal, id)) {
    TRY(memory_.check_room());
    tried.deferred = Deferred{binding_of(command, is_new ? std::optional(id) : std::nullopt), *move, is_new};
    if (!is_new) return tried;
    proposal = TRY(plan_on_fresh_observation(without_binding(command)));
  }
  if (proposal.workloads == state_.workloads) return tried;
  TRY(changes_.carry_out(std::move(proposal)));
  if (is_new) note_created(state_.workloads.at(id));
  if (create && create->key) commits_.keys().add(*create->key, id, commits_.key_time());
  return tried;
}

Result<Done> Transaction::dry_run(const Command& command) {
  const RequestTime time(hardware_);
  const WorkloadId id = TRY(target_of(command));
  Proposal proposal = TRY(plan_on_fresh_observation(command));
  const auto move = move_before(command, proposal, id);
  if (move) TRY(memory_.check_room());
  TRY(check_no_memory_moves(state_, proposal));
  const Workload* found = find_in(proposal.workloads, id);
  Done planned{.workload = found ? *found : state_.workloads.at(id), .is_new = !state_.workloads.contains(id)};
  planned.changes = changes_by(state_, std::move(proposal), move);
  return planned;
}

// How memory must move before `proposal` can hold.
std::optional<cpuset::MemoryChange> Transaction::move_before(const Command& command, const Proposal& proposal,
                                                             WorkloadId id) const {
  return cpu_request_of(command) ? memory_move_of(state_, proposal.workloads.at(id)) : std::nullopt;
}

Result<void> Transaction::apply_moved(const Command& command, const cpuset::MemoryChange& moved) {
  const RequestTime time(hardware_);
  TRY(commits_.resolve());
  TRY(sync_.refresh({}, {}, {.memory = {moved.target}}));
  const Tried tried = TRY(try_one(command));
  if (tried.deferred)
    return fail(ErrorCode::Hardware, moved.target.name + " has memory of other nodes than its CPUs again");
  governor_.reset();
  return commits_.commit_workloads();
}

void Transaction::finish_memory_changes() {
  while (const auto ended = memory_.take_ended()) {
    if (ended->operation) {
      memory_.finish(*ended->operation,
                     ended->result.and_then([&] { return apply_moved(*ended->command, ended->change); }));
    } else {
      memory_.finish_release(*ended);
    }
  }
  if (!sync_.is_in_sync()) drift_.repair({});  // before the next one: cpusets may have waited
  memory_.start_next();
}

std::vector<Result<Done>> Transaction::apply(std::span<const Command> commands,
                                             const std::function<bool()>& may_begin) {
  const auto frozen = [] { return fail(ErrorCode::Frozen, "store state unknown; change rejected, try again"); };
  std::vector<Result<Done>> outcomes;
  std::vector<std::optional<Deferred>> deferred(commands.size());
  if (const Result<void> resolved = commits_.resolve(); !resolved) {
    outcomes.assign(commands.size(), Failure(resolved.error()));
    return outcomes;
  }
  for (const Command& command : commands) {
    if (!may_begin() && !outcomes.empty()) break;
    if (commits_.is_unknown()) {  // the claim of an earlier command
      outcomes.push_back(frozen());
      continue;
    }
    // Answer a delete with the workload as it was, and the others with their state after the batch, unless that is
    // another owner's.
    std::optional<Workload> deleted = deleted_by(state_, command);
    const uint64_t next_id = state_.next_id;
    outcomes.push_back(apply_one(command).map([&](Tried tried) {
      if (deleted) return Done{.workload = *std::move(deleted)};
      deferred[outcomes.size()] = std::move(tried.deferred);
      return Done{.workload = state_.workloads.at(tried.id), .is_new = tried.id.value >= next_id};
    }));
    governor_.reset();
  }
  // If the outcome of a claim is unknown, the whole batch is already rolled back.
  const Result<void> committed = commits_.is_unknown() ? frozen() : commits_.commit_workloads();
  if (committed) {
    commits_.keys().keep_added(commits_.key_time());
  } else {
    commits_.keys().drop_added();
  }
  // Claims of commands that failed, and of those that cancelled each other.
  if (!commits_.is_unknown()) commits_.release_restored();
  settle(outcomes, commands, committed);
  if (committed) {
    groups_.report_sharing();
    begin_operations(outcomes, std::move(deferred));
  }
  return outcomes;
}

void Transaction::settle(std::vector<Result<Done>>& outcomes, std::span<const Command> commands,
                         const Result<void>& committed) const {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    Result<Done>& outcome = outcomes[i];
    if (!outcome) continue;
    if (!committed) {
      outcome = Failure(committed.error());
    } else if (const Workload* found = find_in(state_.workloads, outcome->workload.id);
               found && may_see(commands[i], *found)) {
      outcome->workload = *found;
    }
  }
}

void Transaction::begin_operations(std::vector<Result<Done>>& outcomes, std::vector<std::optional<Deferred>> deferred) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i] || !deferred[i] || !state_.workloads.contains(outcomes[i]->workload.id)) continue;
    outcomes[i]->operation = memory_.begin(outcomes[i]->workload.id, *std::move(deferred[i]));
  }
  memory_.start_next();
}

}  // namespace nrd
