#include "engine/onload/clerk.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/onload/configure.h"
#include "engine/onload/permission.h"
#include "engine/onload/record.h"
#include "engine/onload/stage.h"
#include "engine/onload/way.h"

namespace nrd::onload {

Result<void> Clerk::load(const store::OnloadRecords& records) {
  view_.freeze = {records.frozen, records.reason};
  view_.drained = records.drained;
  for (const auto& row : records.interfaces) view_.interfaces.push_back(from_record(row));
  for (const auto& row : records.generations) {
    Result<Generation> generation = from_record(row);
    if (!generation) return Failure(generation.error());
    view_.generations.push_back(*std::move(generation));
  }
  for (const auto& row : records.operations) {
    Result<Operation> operation = from_record(row);
    if (!operation) return Failure(operation.error());
    view_.operations.push_back(*std::move(operation));
  }
  publish();
  return {};
}

Time Clerk::now() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.now()); }

Result<void> Clerk::set_freeze(const Freeze& freeze) {
  Result<void> stored = ledger_({.freeze = std::pair(freeze.frozen, freeze.reason)});
  if (stored) view_.freeze = freeze;
  publish();
  return stored;
}

Result<Accepted> Clerk::roll_back(std::optional<uint64_t> to) {
  return desired_before(view_, to).and_then([&](const Desired& desired) { return begin(desired, std::nullopt); });
}

Result<Foresight> Clerk::foresee(const std::optional<Desired>& desired, std::optional<uint64_t> if_match) {
  if (!desired && view_.generations.empty()) return fail(ErrorCode::NotFound, "nothing was wished for yet");
  look();
  const Desired& wish = desired ? *desired : view_.generations.back().desired;
  return onload::foresee(node_, view_, wish, {.most_forceful = options_.most_forceful, .if_match = if_match});
}

// A look that has found nothing new is no new revision.
void Clerk::publish() {
  const Generation* kept = effective(view_);
  view_.door_open = kept != nullptr && kept->desired.state == State::Loaded && running(view_) == nullptr &&
                    view_.drift.empty() && view_.problem.empty() && !last_failed(view_) && !view_.drained;
  view_.conditions = conditions_of(view_, view_.conditions, now());
  const std::shared_ptr<const View> before = published_.get();
  if (before == nullptr || !shows_same(*before, view_)) ++view_.revision;
  published_.set(std::make_shared<const View>(view_));
  announce_();
}

void Clerk::see() {
  Result<Seen> seen = node_.observe();
  view_.problem = seen ? "" : seen.error().message;
  if (seen) view_.seen = *std::move(seen);
}

void Clerk::look() {
  see();
  const std::string before = std::move(view_.drift);
  std::optional<Result<Target>> target = target_in_force(node_, view_);
  view_.drift.clear();
  if (target && view_.problem.empty() && running(view_) == nullptr) {
    view_.drift = *target ? drift_of(**target, view_.seen) : target->error().message;
  }
  view_.target = target && *target ? std::optional(**std::move(target)) : std::nullopt;
  if (!view_.drift.empty() && view_.drift != before) {
    log::warning("ONLOAD_DRIFTED", "Onload is not as its last verified generation wants it", {{"WHAT", view_.drift}});
  }
  publish();
}

// After a boot nothing of Onload is there: bring it back. What somebody else has loaded meanwhile is left alone.
void Clerk::begin_after_start() {
  const Generation* kept = effective(view_);
  const bool may = options_.at_start == AtStart::Apply && !view_.freeze.frozen && view_.problem.empty();
  if (!may || running(view_) != nullptr || kept == nullptr || kept->desired.state != State::Loaded) return;
  const auto is_ours = [](const auto& entry) { return entry.first != "sfc"; };
  if (std::ranges::any_of(view_.seen.modules, is_ours)) return;
  if (const auto begun = set_out({.generation = kept->number}, {}); !begun) {
    log::error("ONLOAD_STUCK", "Onload's operation waits for the next look: " + begun.error().message,
               {{"DETAIL", begun.error().detail}});
  }
}

// What others have set while nrd was away is set back; later that is drift like any other.
void Clerk::configure_after_start() {
  const bool may = options_.at_start == AtStart::Apply && !view_.freeze.frozen && view_.problem.empty();
  if (!may || running(view_) != nullptr) return;
  set_interfaces(node_, view_);
  see();
}

Result<Interface> Clerk::set_interface(const std::string& name, InterfaceSwitch what, Turned to) {
  const Result<void> may = check_idle(view_).and_then([&] { return check_thawed(view_); });
  if (!may) return Failure(may.error());
  look();
  if (!view_.problem.empty()) return fail(ErrorCode::Hardware, view_.problem);
  const auto is_it = [&](const Interface& interface) { return interface.name == name; };
  const auto found = std::ranges::find_if(view_.seen.interfaces, is_it);
  if (found == view_.seen.interfaces.end()) return fail(ErrorCode::NotFound, "there is no network interface " + name);
  const Interface before = *found;
  const Result<void> set = onload::set_interface(node_, view_, ledger_, before, what, to);
  look();
  if (!set) return Failure(set.error());
  const Result<std::vector<Interface>> now = node_.interfaces();
  if (!now) return Failure(now.error());
  const auto after = std::ranges::find_if(*now, is_it);
  return after == now->end() ? before : *after;
}

Result<void> Clerk::check(const Desired& desired, std::optional<uint64_t> if_match) const {
  return check_idle(view_)
      .and_then([&] { return check_thawed(view_); })
      .and_then([&] { return check_match(view_, if_match); })
      .and_then([&] { return check_policy(desired.users, options_.most_forceful); });
}

Result<Accepted> Clerk::begin(const Desired& desired, std::optional<uint64_t> if_match) {
  if (const Result<void> allowed = check(desired, if_match); !allowed) return Failure(allowed.error());
  const Result<Target> target = target_now(node_, view_, desired);
  if (!target) return Failure(target.error());
  look();
  if (!view_.problem.empty()) return fail(ErrorCode::Hardware, view_.problem);
  if (is_fulfilled(view_, desired, *target)) return Accepted{last_generation(view_), std::nullopt};
  const std::vector<std::string> removed = removals(*target, view_.seen);
  if (std::ranges::any_of(removed, is_of_driver)) {
    if (const Result<void> driver = node_.may_remove_driver(); !driver) return Failure(driver.error());
  }
  if (!removed.empty() && desired.users == UsersPolicy::Fail) {
    if (const InUse use = node_.find_users(); use.in_use()) return Failure(in_the_way(use));
  }
  return accept(desired);
}

Result<Accepted> Clerk::amend(const Amendment& amendment, std::optional<uint64_t> if_match) {
  const Result<Generation> kept = loaded_generation(view_);
  if (!kept) return Failure(kept.error());
  const Desired desired = amended(kept->desired, amendment);
  const Result<Target> target = target_now(node_, view_, desired);
  if (!target) return Failure(target.error());
  look();
  if (const auto may = check_reload(amendment, *target, view_.seen); !may) return Failure(may.error());
  return begin(desired, if_match);
}

Result<Accepted> Clerk::drain(const Drain& how) {
  const Result<void> may = check_idle(view_).and_then([&] { return check_thawed(view_); }).and_then([&] {
    return check_policy(how.users, options_.most_forceful);
  });
  if (!may) return Failure(may.error());
  const Result<Generation> kept = loaded_generation(view_);
  if (!kept) return Failure(kept.error());
  if (view_.drained) return Accepted{kept->number, std::nullopt};
  return set_out({.generation = kept->number, .errand = Errand::Drain, .users = how.users, .drain = how.patience},
                 {.drained = true});
}

Result<Accepted> Clerk::undrain() {
  const Result<void> may = check_idle(view_).and_then([&] { return check_thawed(view_); });
  if (!may) return Failure(may.error());
  const Generation* kept = effective(view_);
  const uint64_t number = kept == nullptr ? 0 : kept->number;
  if (!view_.drained) return Accepted{number, std::nullopt};
  return set_out({.generation = number, .errand = Errand::Undrain}, {.drained = false});
}

Result<Accepted> Clerk::restart_control_plane() {
  const Result<void> may = check_idle(view_).and_then([&] { return check_thawed(view_); });
  if (!may) return Failure(may.error());
  const Result<Generation> kept = loaded_generation(view_);
  if (!kept) return Failure(kept.error());
  const Result<Target> target = target_now(node_, view_, kept->desired);
  if (!target) return Failure(target.error());
  look();
  if (const auto spawns = check_spawning(*target, view_.seen); !spawns) return Failure(spawns.error());
  const Result<std::vector<Stack>> stacks = node_.stacks();
  if (!stacks) return Failure(stacks.error());
  if (const auto unserved = check_unserved(*stacks); !unserved) return Failure(unserved.error());
  return set_out({.generation = kept->number, .errand = Errand::RestartControlPlane}, {});
}

// Stored at once, so that a daemon that dies before the next stage still turns back.
Result<Accepted> Clerk::cancel(uint64_t id) {
  const auto found = std::ranges::find(view_.operations, id, &Operation::id);
  if (found == view_.operations.end()) return fail(ErrorCode::NotFound, "there is no such operation");
  Operation operation = *found;
  const Result<Way> way = way_of(node_, view_, operation);
  if (const auto may = check_cancellable(operation, way && way->back); !may) return Failure(may.error());
  operation.cause = kCancelled;
  operation.message = "it was cancelled";
  if (const Result<void> stored = record(operation); !stored) return Failure(stored.error());
  return Accepted{operation.generation, operation.id};
}

// An operation that brings no generation about.
Result<Accepted> Clerk::set_out(Operation operation, store::OnloadChange change) {
  operation.id = next_operation(view_);
  operation.started = now();
  change.operations = {to_record(operation)};
  forget_oldest(view_, options_.kept, change);
  change.removed_generations.clear();
  if (const Result<void> stored = ledger_(change); !stored) return Failure(stored.error());
  drop(view_, change);
  if (change.drained) view_.drained = *change.drained;
  view_.operations.push_back(operation);
  publish();
  return Accepted{operation.generation, operation.id};
}

Result<Accepted> Clerk::accept(const Desired& desired) {
  Generation generation{.number = last_generation(view_) + 1, .desired = desired, .created = now()};
  store::OnloadChange change;
  std::optional<Operation> operation;
  if (desired.state == State::Unmanaged) {
    generation.verdict = Verdict::Verified;
    generation.verified = now();
  } else {
    operation = Operation{.id = next_operation(view_), .generation = generation.number, .started = now()};
    change.operations = {to_record(*operation)};
  }
  change.generations = {to_record(generation)};
  forget_oldest(view_, options_.kept, change);
  if (const Result<void> stored = ledger_(change); !stored) return Failure(stored.error());
  drop(view_, change);
  view_.generations.push_back(generation);
  if (operation) view_.operations.push_back(*operation);
  publish();
  if (!operation) return Accepted{generation.number, std::nullopt};
  return Accepted{generation.number, operation->id};
}

Result<Verification> Clerk::verify() {
  if (const Operation* operation = running(view_)) return busy(*operation);
  const Result<Generation> kept = loaded_generation(view_);
  if (!kept) return Failure(kept.error());
  const Result<Target> target = target_now(node_, view_, kept->desired);
  if (!target) return Failure(target.error());
  look();
  Verification found{.generation = kept->number, .trouble = std::nullopt};
  if (!view_.drift.empty()) {
    found.trouble = Trouble{"drifted", view_.drift, {}, {}};
  } else if (const Acted verified = node_.verify(*target, {}); !verified) {
    found.trouble = verified.error();
  } else if (const std::string wrong = wrong_device(view_); !wrong.empty()) {
    found.trouble = Trouble{"device", wrong, {}, {}};
  }
  return found;
}

// The end of an operation and what follows from it, the verdict on its generation or an open door, are one commit.
Result<void> Clerk::record(const Operation& operation) {
  store::OnloadChange change{.operations = {to_record(operation)}};
  const auto found = std::ranges::find(view_.generations, operation.generation, &Generation::number);
  std::optional<Generation> judged;
  const bool is_over = operation.outcome != Outcome::Running;
  if (is_over && operation.errand == Errand::Drain && operation.outcome != Outcome::Succeeded) change.drained = false;
  if (is_over && operation.errand == Errand::Change && found != view_.generations.end()) {
    judged = *found;
    if (operation.outcome == Outcome::Succeeded) {
      judged->verdict = Verdict::Verified;
      judged->verified = now();
    } else if (judged->verdict == Verdict::Pending) {
      // One that was verified once stays the one to go back to, even if it did not come up after a boot.
      judged->verdict = Verdict::Failed;
    }
    change.generations = {to_record(*judged)};
  }
  if (Result<void> stored = ledger_(change); !stored) return stored;
  if (judged) *found = *judged;
  if (change.drained) view_.drained = *change.drained;
  view_.operations.back() = operation;
  publish();
  return {};
}

}  // namespace nrd::onload
