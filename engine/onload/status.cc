#include "engine/onload/status.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/find_in.h"

namespace nrd::onload {

bool shows_same(const Status& one, const Status& other) {
  const auto without_time = [](Status status) {
    status.revision = 0;
    for (ControlPlaneServer& server : status.observed.servers) server.age = {};
    return status;
  };
  return without_time(one) == without_time(other);
}

const Generation* effective(const Status& status) {
  for (auto generation = status.generations.rbegin(); generation != status.generations.rend(); ++generation) {
    if (generation->verdict == Verdict::Verified) return &*generation;
  }
  return nullptr;
}

const Generation* find_generation(const Status& status, uint64_t number) {
  return first_with(status.generations, &Generation::number, number);
}

const Operation* running(const Status& status) {
  const bool is_open = !status.operations.empty() && status.operations.back().outcome == Outcome::Running;
  return is_open ? &status.operations.back() : nullptr;
}

const Operation* last_change(const Status& status) {
  for (auto operation = status.operations.rbegin(); operation != status.operations.rend(); ++operation) {
    const bool changes_access = operation->kind == OperationKind::Drain || operation->kind == OperationKind::Undrain;
    if (!changes_access) return &*operation;
  }
  return nullptr;
}

bool last_failed(const Status& status) {
  const Operation* last = last_change(status);
  return last != nullptr && last->outcome == Outcome::Failed;
}

bool is_cancelled(const Status& status) {
  const Operation* operation = running(status);
  return operation != nullptr && operation->cause == kCancelled && !operation->fallback;
}

bool is_draining(const Status& status) {
  const Operation* operation = running(status);
  return operation != nullptr && operation->kind == OperationKind::Drain;
}

uint64_t last_generation(const Status& status) {
  return status.generations.empty() ? 0 : status.generations.back().number;
}

uint64_t next_operation(const Status& status) {
  return status.operations.empty() ? 1 : status.operations.back().id + 1;
}

Result<Spec> spec_before(const Status& status, std::optional<uint64_t> to) {
  const Generation* kept = effective(status);
  for (auto generation = status.generations.rbegin(); generation != status.generations.rend(); ++generation) {
    if (to ? generation->number == *to : generation->verdict == Verdict::Verified && &*generation != kept) {
      return generation->spec;
    }
  }
  return fail_at(ErrorCode::NotFound, "/to", to ? "generation not found" : "no earlier verified generation");
}

std::optional<std::string> need_of(const Status& status, const std::string& version) {
  const Generation* kept = effective(status);
  if (kept != nullptr && kept->spec.version == version) {
    return fmt::format("generation {} is effective and needs version {}", kept->number, version);
  }
  if (status.observed.current == version) return fmt::format("the files of version {} are in use (current)", version);
  return std::nullopt;
}

void forget_oldest(const Status& status, size_t kept, Change& change) {
  const Generation* needed = effective(status);
  for (size_t i = 0; i + kept < status.generations.size() + change.generations.size(); ++i) {
    if (&status.generations[i] != needed) change.removed_generations.push_back(status.generations[i].number);
  }
  for (size_t i = 0; i + kept < status.operations.size() + change.operations.size(); ++i) {
    change.removed_operations.push_back(status.operations[i].id);
  }
}

void take_over(Status& status, const Change& change) {
  const auto is_in = [](const std::vector<uint64_t>& numbers, uint64_t number) {
    return std::ranges::find(numbers, number) != numbers.end();
  };
  std::erase_if(status.generations, [&](const Generation& g) { return is_in(change.removed_generations, g.number); });
  std::erase_if(status.operations, [&](const Operation& o) { return is_in(change.removed_operations, o.id); });
  std::ranges::copy(change.generations, std::back_inserter(status.generations));
  std::ranges::copy(change.operations, std::back_inserter(status.operations));
  if (change.drained) status.drained = *change.drained;
}

}  // namespace nrd::onload
