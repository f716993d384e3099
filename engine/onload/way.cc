#include "engine/onload/way.h"

#include "engine/onload/stage.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

std::string text_of(const Stage& stage) {
  return std::string(word_of(stage.act)) + (stage.subject.empty() ? "" : " " + stage.subject);
}

// Where a generation is undone to that had nothing before it. A driver that came where none was stays: without it the
// interfaces would be gone as well.
Target as_before_us(const Desired& desired) {
  return {.state = State::Unloaded, .sfc = Sfc::External, .users = desired.users, .drain = desired.drain};
}

// What has failed is kept shut by that, whatever else is asked.
Door usual_door(const View& view) { return last_failed(view) ? Door::AsItIs : Door::Open; }

Way way_to_drained(const View& view, const Operation& operation) {
  return {.there = {.state = State::Unmanaged,
                    .users = operation.users,
                    .drain = operation.drain,
                    .door = Door::Shut,
                    .ends_users = true},
          .back = {},
          .back_to = operation.generation,
          .door_before = usual_door(view)};
}

Result<Way> way_to_generation(Node& node, const View& view, const Generation& generation) {
  Result<Target> there = target_now(node, view, generation.desired);
  if (!there) return Failure(there.error());
  Way way{.there = *std::move(there),
          .back = {},
          .back_to = 0,
          .on_failure = generation.desired.on_failure,
          .door_before = view.drained ? Door::Shut : usual_door(view)};
  const Generation* kept = effective(view);
  const bool had_driver = kept != nullptr && kept->desired.state == State::Loaded && kept->desired.sfc == Sfc::Managed;
  way.foreign_driver = generation.desired.sfc == Sfc::Managed && !had_driver;
  if (kept == nullptr) {
    way.back = as_before_us(generation.desired);
    return way;
  }
  way.back_to = kept->number;
  if (kept->number == generation.number || kept->desired.state == State::Unmanaged) return way;
  if (Result<Target> back = target_now(node, view, kept->desired)) way.back = *std::move(back);
  return way;
}

}  // namespace

Result<Target> target_now(Node& node, const View& view, const Desired& desired) {
  Result<Target> target = node.target_of(desired);
  if (!target) return target;
  if (view.drained && target->door == Door::Open) target->door = Door::Shut;
  target->interfaces = view.interfaces;
  return target;
}

Result<Way> way_of(Node& node, const View& view, const Operation& operation) {
  if (operation.errand == Errand::Drain) return way_to_drained(view, operation);
  if (operation.errand == Errand::Undrain) {
    return Way{.there = {.state = State::Unmanaged, .door = usual_door(view)},
               .back = {},
               .back_to = operation.generation,
               .on_failure = OnFailure::Stop};
  }
  const Generation* generation = find_generation(view, operation.generation);
  if (generation == nullptr) return fail(ErrorCode::NotFound, "its generation is gone");
  Result<Way> way = way_to_generation(node, view, *generation);
  if (way && operation.errand == Errand::RestartControlPlane) {
    way->there.restarts_server = true;
    way->on_failure = OnFailure::Rollback;  // as long as it has only closed the door
  }
  return way;
}

std::optional<Result<Target>> target_in_force(Node& node, const View& view) {
  const Generation* kept = effective(view);
  if (kept == nullptr) return std::nullopt;
  return target_now(node, view, kept->desired);
}

// The first stage that would be needed.
std::string drift_of(const Target& target, const Seen& seen) {
  const std::optional<Stage> stage = next_stage(target, seen, {.verified = true});
  if (!stage) return {};
  const std::vector<std::string> wrong = removals(target, seen);
  return wrong.empty() ? "needs " + text_of(*stage) : wrong.back() + " is another one";
}

}  // namespace nrd::onload
