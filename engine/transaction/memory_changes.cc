#include "engine/transaction/memory_changes.h"

#include <fmt/core.h>
#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "base/find_in.h"
#include "base/invariant.h"
#include "base/log.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/node_state.h"
#include "engine/transaction/claims.h"
#include "engine/transaction/commits.h"
#include "engine/transaction/hardware_sync.h"
#include "engine/transaction/proposal.h"

namespace nrd {
namespace {

using cpuset::MemoryChange;
using State = MemoryMove::State;

bool is_change(const Command& command) {
  return std::holds_alternative<PutWorkload>(command) || std::holds_alternative<PatchWorkload>(command);
}

// Why an operation is cancelled.
Error deleted() { return fail(ErrorCode::Conflict, "the workload was deleted").value(); }

bool changes_cpus(const Command& command) {
  if (std::holds_alternative<PutWorkload>(command)) return true;
  const auto* patch = std::get_if<PatchWorkload>(&command);
  return patch && patch->patch.cpu;
}

}  // namespace

MemoryWorker::MemoryWorker(ChangeMemory change, std::function<void()> ended) : shared_(std::make_shared<Shared>()) {
  shared_->change = std::move(change);
  shared_->ended = std::move(ended);
}

void MemoryWorker::start(const cpuset::MemoryChange& change) {
  INVARIANT(!is_busy_);
  is_busy_ = true;
  try {
    std::thread([shared = shared_, change] {
      ::pthread_setname_np(::pthread_self(), "nrd-memory");
      shared->end(shared->change(change));
    }).detach();
  } catch (const std::system_error& error) {  // the host has no process or memory left for a thread
    shared_->end(fail(ErrorCode::Busy, "cannot start a thread that moves memory; try again", error.what()));
  }
}

void MemoryWorker::Shared::end(Result<void> how) {
  const std::lock_guard hold(lock);
  result = std::move(how);
  has_ended.notify_all();
  if (ended) ended();
}

bool MemoryWorker::has_ended() const {
  const std::lock_guard hold(shared_->lock);
  return shared_->result.has_value();
}

std::optional<Result<void>> MemoryWorker::take() {
  const std::lock_guard hold(shared_->lock);
  if (shared_->result) is_busy_ = false;
  return std::exchange(shared_->result, std::nullopt);
}

void MemoryWorker::wait(std::chrono::steady_clock::time_point until) {
  std::unique_lock hold(shared_->lock);
  shared_->has_ended.wait_until(hold, until, [this] { return shared_->result.has_value(); });
}

void MemoryWorker::abandon() {
  const std::lock_guard hold(shared_->lock);
  shared_->ended = nullptr;
}

Result<void> MemoryChanges::check(const Command& command, WorkloadId id) const {
  if (!is_change(command)) return {};
  const bool has_cpus = changes_cpus(command);
  for (const auto& [operation, move] : state_.memory_moves) {
    const bool is_ahead = move.state == State::Waiting || move.state == State::Moving;
    if (!is_ahead || move.workload != id || (move.only_binds && !has_cpus)) continue;
    return fail_at(ErrorCode::Conflict, has_cpus ? "/cpu" : "",
                   fmt::format("operation {} moves the memory of {}", operation, move.target.name),
                   "a change after the operation has ended");
  }
  return {};
}

Result<void> MemoryChanges::check_room() const {
  const auto open =
      std::ranges::count_if(state_.memory_moves, [](const auto& entry) { return entry.second.is_open(); });
  if (static_cast<size_t>(open) < kMostOpenMemoryMoves) return {};
  return fail(ErrorCode::Busy, fmt::format("{} operations move memory or wait for it; try again later", open));
}

// Before the first write. The commit makes the revision of the store, so the id of the operation, a new one.
Result<void> MemoryChanges::claim(const MemoryChange& move) {
  TRY(sync_.refresh({}, {}, {.memory = {move.target}}));
  Setting bound;
  bound.cpuset.memory[move.target] = move.nodes;
  Proposal proposal{state_.workloads, std::move(bound)};
  TRY(claims_.claim(proposal));
  return commits_.commit_baselines({});
}

uint64_t MemoryChanges::begin(WorkloadId id, Deferred deferred) {
  const Workload& workload = state_.workloads.at(id);
  MemoryMove move{.workload = id,
                  .workload_text = id_text(workload),
                  .only_binds = deferred.only_binds,
                  .target = deferred.move.target,
                  .to = deferred.move.nodes,
                  .started = now(clock_)};
  const Result<void> may_begin = check(deferred.command, id).and_then([this] { return check_room(); });
  const Result<void> claimed = may_begin ? claim(deferred.move) : may_begin;
  if (const cpuset::Memory* found = find_in(state_.observed.cpuset.memory, move.target)) {
    move.from = found->nodes;
    move.bytes = found->bytes;
  }
  // Of another operation that has failed since the last commit.
  uint64_t operation = state_.revision;
  while (state_.memory_moves.contains(operation)) ++operation;
  MemoryMoves::Map& moves = state_.memory_moves.edit();
  moves[operation] = std::move(move);
  if (moves.size() > kMostMemoryMoves) {
    const auto oldest = std::ranges::find_if(moves, [](const auto& entry) { return !entry.second.is_open(); });
    if (oldest != moves.end()) moves.erase(oldest);
  }
  if (claimed) {
    waiting_.push_back({operation, std::move(deferred)});
  } else {
    end(operation, State::Failed, claimed.error());
  }
  return operation;
}

void MemoryChanges::end(uint64_t operation, State state, const Error& why) {
  MemoryMove& move = state_.memory_moves.edit().at(operation);
  move.state = state;
  move.finished = now(clock_);
  move.message = why.message;
  log::notice("MEMORY_MOVE",
              fmt::format("operation {}, memory of {}: {}", operation, move.target.name, to_string(state)),
              {{"REASON", why.message}, {"DETAIL", why.detail}});
}

void MemoryChanges::cancel_deleted() {
  std::erase_if(waiting_, [this](const Waiting& waiting) {
    if (state_.workloads.contains(state_.memory_moves.at(waiting.operation).workload)) return false;
    end(waiting.operation, State::Cancelled, deleted());
    return true;
  });
}

std::optional<MemoryChange> MemoryChanges::next_release() const {
  for (const auto& [target, own] : state_.baselines.memory) {
    if (awaits_release(state_, target) && !failed_.contains(target))
      return MemoryChange{.target = target, .nodes = own, .kind = MemoryChange::Kind::Release};
  }
  return std::nullopt;
}

void MemoryChanges::start_next() {
  cancel_deleted();
  if (worker_.is_busy()) return;
  if (!returns_.empty()) {
    running_ = Ended{.change = std::move(returns_.front())};
    returns_.pop_front();
  } else if (const std::optional<MemoryChange> release = next_release()) {
    running_ = Ended{.change = *release};
  } else if (!waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    state_.memory_moves.edit().at(next.operation).state = State::Moving;
    running_ =
        Ended{.operation = next.operation, .command = std::move(next.deferred.command), .change = next.deferred.move};
  } else {
    return;
  }
  worker_.start(running_->change);
}

std::optional<MemoryChanges::Ended> MemoryChanges::take_ended() {
  std::optional<Result<void>> result = worker_.take();
  if (!result) return std::nullopt;
  running_->result = *std::move(result);
  if (running_->operation) state_.memory_moves.edit().at(*running_->operation).state = State::Applying;
  return std::exchange(running_, std::nullopt);
}

void MemoryChanges::finish(uint64_t operation, const Result<void>& done) {
  const bool is_deleted = !state_.workloads.contains(state_.memory_moves.at(operation).workload);
  const State state = done ? State::Succeeded : is_deleted ? State::Cancelled : State::Failed;
  const cpuset::Target target = state_.memory_moves.at(operation).target;
  end(operation, state, done ? Error{} : is_deleted ? deleted() : done.error());
  // To the nodes that the workload still has; if it has none, it is released.
  const std::map<cpuset::Target, cpuset::MemoryNodes> bound = bound_memory(state_);
  if (const auto* nodes = find_in(bound, target); nodes && !done)
    returns_.push_back({.target = target, .nodes = *nodes});
}

void MemoryChanges::finish_release(const Ended& release) {
  const cpuset::Target& target = release.change.target;
  if (!release.result) {
    failed_.insert(target);
    return sync_.note_problem(release.result.error());
  }
  // If this fails, the next drift check observes it.
  [[maybe_unused]] const Result<void> observed = sync_.refresh({}, {}, {.memory = {target}});
  const bool is_release = release.change.kind == MemoryChange::Kind::Release;
  if (!is_release || !awaits_release(state_, target) || !commits_.resolve()) return;
  state_.baselines.memory.erase(target);
  // If this commit fails the claim stays, and the next start releases it again.
  [[maybe_unused]] const Result<void> committed = commits_.commit_baselines({});
}

void MemoryChanges::stop(std::chrono::steady_clock::time_point until) {
  while (!(running_ && running_->operation)) {
    if (!worker_.is_busy() && next_release()) start_next();
    if (!worker_.is_busy()) break;
    worker_.wait(until);
    const std::optional<Ended> ended = take_ended();
    if (!ended) break;
    finish_release(*ended);
  }
  worker_.abandon();
}

}  // namespace nrd
