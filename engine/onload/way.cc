#include "engine/onload/way.h"

#include "engine/onload/stage.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

std::string text_of(const Stage& stage) {
  return std::string(word_of(stage.act)) + (stage.subject.empty() ? "" : " " + stage.subject);
}

// Where a generation is undone to that had nothing before it. The driver stays as it is: without it the interfaces
// would be gone as well.
Target as_before_us(const Desired& desired) {
  return {.state = State::Unloaded, .sfc = Sfc::External, .users = desired.users, .drain = desired.drain};
}

}  // namespace

Result<Way> way_of(Node& node, const View& view, const Operation& operation) {
  const Generation* generation = find_generation(view, operation.generation);
  if (generation == nullptr) return fail(ErrorCode::NotFound, "its generation is gone");
  Result<Target> there = node.target_of(generation->desired);
  if (!there) return Failure(there.error());
  Way way{.there = *std::move(there), .back = {}, .back_to = 0};
  if (generation->desired.on_failure == OnFailure::Stop) return way;
  const Generation* kept = effective(view);
  if (kept == nullptr) {
    way.back = as_before_us(generation->desired);
    return way;
  }
  if (kept->number == generation->number || kept->desired.state == State::Unmanaged) return way;
  if (Result<Target> back = node.target_of(kept->desired)) {
    way.back = *std::move(back);
    way.back_to = kept->number;
  }
  return way;
}

// The first stage that would be needed.
std::string drift_of(Node& node, const View& view) {
  const Generation* kept = effective(view);
  if (kept == nullptr) return {};
  const Result<Target> target = node.target_of(kept->desired);
  if (!target) return target.error().message;
  const std::optional<Stage> stage = next_stage(*target, view.seen, {.verified = true});
  if (!stage) return {};
  const std::vector<std::string> wrong = removals(*target, view.seen);
  return wrong.empty() ? "needs " + text_of(*stage) : wrong.back() + " is another one";
}

}  // namespace nrd::onload
