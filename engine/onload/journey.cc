#include "engine/onload/journey.h"

#include <algorithm>

namespace nrd::onload {
namespace {

constexpr std::chrono::milliseconds kLookForUsers{500};
constexpr std::chrono::seconds kGrace{5};  // after a signal
// More than any journey needs; one that is longer goes in circles, as when somebody loads what nrd removes.
constexpr size_t kMostSteps = 200;
constexpr const char* kInUse = "in_use";
constexpr const char* kStopping = "stopping";
constexpr const char* kCircles = "circles";

// What the steps say about the door: closing it may have been done in part, and opening it only counts when it was
// done.
bool may_be_closed(const std::vector<Step>& steps) {
  bool closed = false;
  for (const Step& step : steps) {
    if (step.act == Act::CloseDoor) closed = true;
    if (step.act == Act::OpenDoor && step.progress == Progress::Done) closed = false;
  }
  return closed;
}

void remember(Memory& memory, Act act) {
  switch (act) {
    case Act::CloseDoor: memory.door_closed = true; return;
    case Act::OpenDoor: memory.door_closed = false; return;
    case Act::EndUsers: memory.users_ended = true; return;
    case Act::Verify: memory.verified = true; return;
    case Act::StopControlPlane: return;
    case Act::Remove:
    case Act::Switch:
    case Act::Insert:
    case Act::SetParameter: memory.verified = false; return;
  }
}

}  // namespace

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

Result<Arrival> Journey::run(Operation& operation, const Way& way) {
  memory_ = {.users_ended = false, .verified = false, .door_closed = may_be_closed(operation.steps)};
  tries_left_ = 1;
  for (Step& step : operation.steps) {
    if (step.progress == Progress::Running) step.progress = Progress::Interrupted;
  }
  return go(operation, way);
}

Result<Arrival> Journey::go(Operation& operation, const Way& way) {
  for (;;) {
    if (pause_(std::chrono::milliseconds(0))) return Arrival::Interrupted;
    const bool goes_back = operation.fallback && way.back;
    const Target& target = goes_back ? *way.back : way.there;
    const Result<Seen> seen = node_.observe();
    if (!seen) return Failure(seen.error());
    const std::optional<Stage> stage = next_stage(target, *seen, memory_);
    if (!stage) return finish(operation, goes_back ? Outcome::RolledBack : Outcome::Succeeded);

    const Result<Acted> acted = take(operation, *stage, target);
    if (!acted) return Failure(acted.error());
    if (*acted) {
      remember(memory_, stage->act);
      continue;
    }
    const Trouble& trouble = acted->error();
    if (trouble.cause == kStopping) return Arrival::Interrupted;
    if (stage->act == Act::Remove && trouble.cause == kInUse && tries_left_ > 0) {
      --tries_left_;
      memory_.users_ended = false;
      continue;
    }
    if (!turns_back(operation, way, trouble)) return finish(operation, Outcome::Failed);
  }
}

Result<Acted> Journey::take(Operation& operation, const Stage& stage, const Target& target) {
  operation.steps.push_back({.act = stage.act, .subject = stage.subject, .started = now()});
  if (const Result<void> recorded = record_(operation); !recorded) return Failure(recorded.error());
  Acted acted = tl::unexpected(Trouble{kCircles, "the node changes faster than nrd can follow"});
  if (operation.steps.size() < kMostSteps) acted = act(stage, target);

  Step& step = operation.steps.back();
  step.finished = now();
  step.progress = Progress::Done;
  if (!acted) {
    step.progress = acted.error().cause == kStopping ? Progress::Interrupted : Progress::Failed;
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
  if (operation.fallback || !way.back || trouble.cause == kCircles) return false;
  operation.fallback = way.back_to;
  memory_.door_closed = may_be_closed(operation.steps);
  memory_.verified = false;
  tries_left_ = 1;
  return true;
}

Acted Journey::act(const Stage& stage, const Target& target) {
  switch (stage.act) {
    case Act::CloseDoor: return node_.close_door();
    case Act::EndUsers: return end_users(target);
    case Act::StopControlPlane: return node_.stop_control_plane();
    case Act::Remove: return node_.remove(stage.subject);
    case Act::Switch: return node_.switch_to(stage.subject);
    case Act::Insert: {
      const auto module = std::ranges::find(target.modules, stage.subject, &TargetModule::name);
      return node_.insert(target.version, *module);
    }
    case Act::SetParameter: {
      const size_t dot = stage.subject.find('.');
      return node_.set_parameter(stage.subject.substr(0, dot), stage.subject.substr(dot + 1), stage.value);
    }
    case Act::Verify: return node_.verify(target);
    case Act::OpenDoor: return node_.open_door();
  }
  return {};
}

// Nullopt: the daemon stops. Otherwise who is left.
std::optional<InUse> Journey::wait_for_users(std::chrono::milliseconds at_most) {
  const auto deadline = clock_.steady() + at_most;
  for (;;) {
    InUse use = node_.find_users();
    if (!use.in_use() || clock_.steady() >= deadline) return use;
    if (pause_(kLookForUsers)) return std::nullopt;
  }
}

Acted Journey::end_users(const Target& target) {
  const auto in_use = [](const InUse& use) {
    return tl::unexpected(Trouble{kInUse, "Onload is in use by " + describe(use)});
  };
  const Acted stopping = tl::unexpected(Trouble{kStopping, "the daemon stops"});
  std::optional<InUse> use = wait_for_users(target.users == UsersPolicy::Fail ? std::chrono::seconds(0) : target.drain);
  if (!use) return stopping;
  for (const Node::Force force : {Node::Force::Term, Node::Force::Kill}) {
    if (!use->in_use()) return {};
    const bool allowed =
        force == Node::Force::Term ? target.users >= UsersPolicy::Term : target.users == UsersPolicy::Kill;
    if (!allowed) break;
    for (const User& user : use->users) {
      if (const Acted ended = node_.end_user(user.process, force); !ended) return ended;
    }
    use = wait_for_users(kGrace);
    if (!use) return stopping;
  }
  if (use->in_use()) return in_use(*use);
  return {};
}

}  // namespace nrd::onload
