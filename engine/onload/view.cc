#include "engine/onload/view.h"

#include <algorithm>

namespace nrd::onload {

bool shows_same(const View& one, const View& other) {
  const auto without_time = [](View view) {
    view.revision = 0;
    for (ControlPlaneServer& server : view.seen.servers) server.age = {};
    return view;
  };
  return without_time(one) == without_time(other);
}

const Generation* effective(const View& view) {
  for (auto generation = view.generations.rbegin(); generation != view.generations.rend(); ++generation) {
    if (generation->verdict == Verdict::Verified) return &*generation;
  }
  return nullptr;
}

const Generation* find_generation(const View& view, uint64_t number) {
  const auto found = std::ranges::find(view.generations, number, &Generation::number);
  return found == view.generations.end() ? nullptr : &*found;
}

const Operation* running(const View& view) {
  const bool is_open = !view.operations.empty() && view.operations.back().outcome == Outcome::Running;
  return is_open ? &view.operations.back() : nullptr;
}

bool last_failed(const View& view) {
  for (auto operation = view.operations.rbegin(); operation != view.operations.rend(); ++operation) {
    const bool is_about_doors = operation->errand == Errand::Drain || operation->errand == Errand::Undrain;
    if (!is_about_doors) return operation->outcome == Outcome::Failed;
  }
  return false;
}

bool is_cancelled(const View& view) {
  const Operation* operation = running(view);
  return operation != nullptr && operation->cause == kCancelled && !operation->fallback;
}

bool is_draining(const View& view) {
  const Operation* operation = running(view);
  return operation != nullptr && operation->errand == Errand::Drain;
}

uint64_t last_generation(const View& view) { return view.generations.empty() ? 0 : view.generations.back().number; }

uint64_t next_operation(const View& view) { return view.operations.empty() ? 1 : view.operations.back().id + 1; }

Result<Desired> desired_before(const View& view, std::optional<uint64_t> to) {
  const Generation* kept = effective(view);
  for (auto generation = view.generations.rbegin(); generation != view.generations.rend(); ++generation) {
    if (to ? generation->number == *to : generation->verdict == Verdict::Verified && &*generation != kept) {
      return generation->desired;
    }
  }
  return fail_at(ErrorCode::NotFound, "/to", to ? "there is no such generation" : "no other generation was verified");
}

std::optional<std::string> need_of(const View& view, const std::string& version) {
  const Generation* kept = effective(view);
  if (kept != nullptr && kept->desired.version == version) {
    return "generation " + std::to_string(kept->number) + ", which the node is kept at, needs version " + version;
  }
  if (view.seen.current == version) return "the files of version " + version + " are the current ones";
  return std::nullopt;
}

void forget_oldest(const View& view, size_t kept, store::OnloadChange& change) {
  const Generation* needed = effective(view);
  for (size_t i = 0; i + kept <= view.generations.size(); ++i) {
    if (&view.generations[i] != needed) change.removed_generations.push_back(view.generations[i].number);
  }
  for (size_t i = 0; i + kept <= view.operations.size(); ++i) {
    change.removed_operations.push_back(view.operations[i].id);
  }
}

void drop(View& view, const store::OnloadChange& change) {
  const auto is_in = [](const std::vector<uint64_t>& numbers, uint64_t number) {
    return std::ranges::find(numbers, number) != numbers.end();
  };
  std::erase_if(view.generations, [&](const Generation& g) { return is_in(change.removed_generations, g.number); });
  std::erase_if(view.operations, [&](const Operation& o) { return is_in(change.removed_operations, o.id); });
}

}  // namespace nrd::onload
