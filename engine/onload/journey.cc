#include "engine/onload/journey.h"

#include <algorithm>

#include "engine/onload/interface_wish.h"
#include "engine/onload/permission.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

constexpr std::chrono::milliseconds kLookForUsers{500};
constexpr std::chrono::seconds kGrace{5};  // after a signal
// More than any journey needs; one that is longer goes in circles, as when somebody loads what nrd removes.
constexpr size_t kMostSteps = 200;
constexpr const char* kInUse = "in_use";
constexpr const char* kStopping = "stopping";
constexpr const char* kCircles = "circles";
constexpr const char* kFrozen = "frozen";

Trouble cancelled() { return {kCancelled, "it was cancelled", {}, {}}; }
Trouble frozen() { return {kFrozen, "Onload was frozen before anything was removed", {}, {}}; }

bool has_closed_door(const Operation& operation) {
  return std::ranges::find(operation.steps, Act::CloseDoor, &Step::act) != operation.steps.end();
}

// What is left to do about the door after `steps`. What was not done may have been done in part: then it is done again.
Memory door_after(const std::vector<Step>& steps) {
  Memory memory;
  for (const Step& step : steps) {
    const bool is_about_doors = step.act == Act::CloseDoor || step.act == Act::Insert;
    if (step.progress == Progress::Done) {
      remember(memory, {step.act, step.subject, {}});
    } else if (is_about_doors) {
      memory.door_closed = false;
      memory.door_to_open = true;
    }
  }
  return {.door_closed = memory.door_closed, .door_to_open = memory.door_to_open};
}

// Where one goes back to that has changed more. If somebody else's driver was removed, or may have been, that is part
// of it.
Target undone(const Way& way, const Operation& operation) {
  Target back = *way.back;
  const auto removes = [](const Step& step) { return step.act == Act::Remove && is_of_driver(step.subject); };
  if (!way.foreign_driver || std::ranges::none_of(operation.steps, removes)) return back;
  back.undone_driver.emplace();
  for (const TargetModule& module : way.there.modules) {
    if (is_of_driver(module.name)) back.undone_driver->push_back(module.build_id);
  }
  return back;
}

// Where an operation goes back to that has closed the door and no more.
Target untouched(const Way& way) { return {.state = State::Unmanaged, .door = way.door_before}; }

}  // namespace

bool has_changed(const Operation& operation) {
  return std::ranges::any_of(operation.steps, [](const Step& step) {
    switch (step.act) {
      case Act::CloseDoor:
      case Act::EndUsers:
      case Act::OpenDoor: return false;
      case Act::Verify:
      case Act::StopControlPlane:
      case Act::Remove:
      case Act::Switch:
      case Act::Insert:
      case Act::SetParameter:
      case Act::Configure: return true;
    }
    return true;
  });
}

std::string describe(const InUse& use) {
  std::string text;
  size_t told = 0;
  const size_t all = use.users.size() + use.unexplained.size() + use.foreign_holders.size() + use.unknown.size();
  const auto tell = [&](const std::string& what) {
    constexpr size_t kMost = 3;
    if (++told <= kMost) text += (text.empty() ? "" : ", ") + what;
  };
  for (const User& user : use.users) {
    tell(user.comm + " (pid " + std::to_string(user.process.pid) + (user.unit.empty() ? "" : ", " + user.unit) + ")");
  }
  for (const auto& [module, modules] : use.foreign_holders) tell("module " + modules.front());
  for (const auto& [module, count] : use.unexplained) {
    tell(std::to_string(count) + " references to " + module + " by nobody who can be seen");
  }
  for (const std::string& sentence : use.unknown) tell(sentence);
  if (text.empty()) return std::to_string(use.stacks.size()) + " stacks";
  return all > told ? text : text + (told > 3 ? " and " + std::to_string(told - 3) + " more" : "");
}

Time Journey::now() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.now()); }

Result<Arrival> Journey::finish(Operation& operation, Outcome outcome) {
  operation.outcome = outcome;
  operation.finished = now();
  return record_(operation).map([] { return Arrival::Arrived; });
}

Result<Arrival> Journey::give_up(Operation& operation, const Target& target) {
  // What was inserted on the way made its nodes anew, open to all.
  if (has_changed(operation)) {
    const Result<Acted> shut = take(operation, {Act::CloseDoor, {}, {}}, target);
    if (!shut) return Failure(shut.error());
  }
  return finish(operation, Outcome::Failed);
}

Result<Arrival> Journey::run(Operation& operation, const Way& way) {
  tries_left_ = 1;
  for (Step& step : operation.steps) {
    if (step.progress == Progress::Running) step.progress = Progress::Interrupted;
  }
  memory_ = door_after(operation.steps);
  return go(operation, way);
}

Result<Arrival> Journey::go(Operation& operation, const Way& way) {
  for (;;) {
    if (pause_(std::chrono::milliseconds(0))) return Arrival::Interrupted;
    if (brakes_.cancelled() && turns_back(operation, way, cancelled())) continue;
    const bool changed = has_changed(operation);
    // Neither on the way back nor once something was changed: the node is of no use in between.
    may_freeze_ = !changed && !operation.fallback;
    if (is_frozen() && has_closed_door(operation) && turns_back(operation, way, frozen())) continue;
    const bool goes_back = operation.fallback && (way.back || !changed);
    const Target target = !goes_back ? way.there : changed ? undone(way, operation) : untouched(way);
    const Result<Seen> seen = node_.observe();
    if (!seen) return Failure(seen.error());
    const std::optional<Stage> stage = next_stage(target, *seen, memory_);
    if (!stage) return finish(operation, goes_back ? Outcome::RolledBack : Outcome::Succeeded);

    if (stage->act == Act::CloseDoor && is_frozen()) {
      operation.cause = frozen().cause;
      operation.message = frozen().message;
      return finish(operation, Outcome::Failed);
    }

    if (stage->act == Act::Remove && is_of_driver(stage->subject) && operation.interfaces.empty()) {
      operation.interfaces = interfaces_of_driver(seen->interfaces);
    }
    const Acted may = check_stacks(operation, *stage, target);
    const Result<Acted> acted = may ? take(operation, *stage, target) : Result<Acted>(may);
    if (!acted) return Failure(acted.error());
    if (*acted) {
      remember(memory_, *stage);
      continue;
    }
    const Trouble& trouble = acted->error();
    if (trouble.cause == kStopping) return Arrival::Interrupted;
    if (stage->act == Act::Remove && trouble.cause == kInUse && tries_left_ > 0) {
      --tries_left_;
      memory_.users_ended = false;
      continue;
    }
    if (!turns_back(operation, way, trouble)) return give_up(operation, target);
  }
}

Acted Journey::check_stacks(const Operation& operation, const Stage& stage, const Target& target) {
  const bool ends_server = stage.act == Act::StopControlPlane && target.restarts_server;
  if (!ends_server || has_changed(operation)) return {};  // what has begun goes on until there is a server again
  const Result<std::vector<Stack>> stacks = node_.stacks();
  if (!stacks) return tl::unexpected(Trouble{"unreadable", stacks.error().message, stacks.error().detail, {}});
  const Result<void> checked = check_unserved(*stacks);
  return checked ? Acted() : tl::unexpected(Trouble{kInUse, checked.error().message, {}, {}});
}

Result<Acted> Journey::take(Operation& operation, const Stage& stage, const Target& target) {
  operation.steps.push_back({.act = stage.act, .subject = stage.subject, .started = now()});
  if (const Result<void> recorded = record_(operation); !recorded) return Failure(recorded.error());
  Acted acted = tl::unexpected(Trouble{kCircles, "the node changes faster than nrd can follow"});
  if (operation.steps.size() < kMostSteps || stage.act == Act::CloseDoor) acted = act(operation, stage, target);

  Step& step = operation.steps.back();
  step.finished = now();
  step.progress = Progress::Done;
  if (!acted) {
    const std::string& cause = acted.error().cause;
    const bool was_broken_off = cause == kStopping || cause == kCancelled || cause == kFrozen;
    step.progress = was_broken_off ? Progress::Interrupted : Progress::Failed;
    step.cause = acted.error().cause;
    step.message = acted.error().message;
    step.kernel = acted.error().kernel;
  }
  if (const Result<void> recorded = record_(operation); !recorded) return Failure(recorded.error());
  return acted;
}

bool Journey::turns_back(Operation& operation, const Way& way, const Trouble& trouble) {
  if (operation.cause.empty()) {
    operation.cause = trouble.cause;
    operation.message = trouble.message;
  }
  const bool may = way.on_failure == OnFailure::Rollback || trouble.cause == kCancelled || trouble.cause == kFrozen;
  const bool can = way.back || !has_changed(operation);
  if (operation.fallback || !may || !can || trouble.cause == kCircles) return false;
  operation.fallback = way.back_to;
  memory_ = door_after(operation.steps);
  tries_left_ = 1;
  return true;
}

// One that is gone or has another name by now is looked for again.
Acted Journey::configure(const Stage& stage) {
  const InterfaceSubject subject = parse_subject(stage.subject);
  const Result<void> set = node_.set_interface(subject.interface, subject.what, *parse<Turned>(stage.value));
  if (set || set.error().code == ErrorCode::NotFound) return {};
  return tl::unexpected(Trouble{"interface_setting", set.error().message, set.error().detail, {}});
}

Acted Journey::act(const Operation& operation, const Stage& stage, const Target& target) {
  switch (stage.act) {
    case Act::CloseDoor: return node_.close_door();
    case Act::EndUsers: return end_users(target);
    case Act::StopControlPlane: return node_.stop_control_plane();
    case Act::Remove: return node_.remove(stage.subject);
    case Act::Switch: return node_.switch_to(stage.subject);
    case Act::Insert: {
      if (stage.value == kOfSystem) return node_.insert_of_system(stage.subject);
      return node_.insert(target.version, *std::ranges::find(target.modules, stage.subject, &TargetModule::name));
    }
    case Act::SetParameter: {
      const size_t dot = stage.subject.find('.');
      return node_.set_parameter(stage.subject.substr(0, dot), stage.subject.substr(dot + 1), stage.value);
    }
    case Act::Configure: return configure(stage);
    case Act::Verify: return node_.verify(target, operation.interfaces);
    case Act::OpenDoor: return node_.open_door();
  }
  return {};
}

bool Journey::is_frozen() const { return may_freeze_ && brakes_.frozen(); }

// Nullopt: the daemon stops, or somebody put on a brake. Otherwise who is left.
std::optional<InUse> Journey::wait_for_users(std::chrono::milliseconds at_most) {
  const auto deadline = clock_.steady() + at_most;
  for (;;) {
    InUse use = node_.find_users();
    if (!use.in_use() || clock_.steady() >= deadline) return use;
    if (pause_(kLookForUsers) || brakes_.cancelled() || is_frozen()) return std::nullopt;
  }
}

Acted Journey::end_users(const Target& target) {
  const auto in_use = [](const InUse& use) {
    return tl::unexpected(Trouble{kInUse, "Onload is in use by " + describe(use)});
  };
  const auto broken_off = [this] {
    if (brakes_.cancelled()) return tl::unexpected(cancelled());
    return tl::unexpected(is_frozen() ? frozen() : Trouble{kStopping, "the daemon stops", {}, {}});
  };
  std::optional<InUse> use = wait_for_users(target.users == UsersPolicy::Fail ? std::chrono::seconds(0) : target.drain);
  if (!use) return broken_off();
  for (const Node::Force force : {Node::Force::Term, Node::Force::Kill}) {
    if (!use->in_use()) return {};
    const bool allowed =
        force == Node::Force::Term ? target.users >= UsersPolicy::Term : target.users == UsersPolicy::Kill;
    if (!allowed) break;
    for (const User& user : use->users) {
      if (const Acted ended = node_.end_user(user.process, force); !ended) return ended;
    }
    use = wait_for_users(kGrace);
    if (!use) return broken_off();
  }
  if (use->in_use()) return in_use(*use);
  return {};
}

}  // namespace nrd::onload
