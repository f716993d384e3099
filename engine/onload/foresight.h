// What would become of a wish: whether anything is in its way, and the stages it would take. Nothing is touched, and
// nothing of it is remembered.
#pragma once

#include <optional>
#include <vector>

#include "engine/onload/node.h"
#include "engine/onload/stage.h"
#include "engine/onload/view.h"

namespace nrd::onload {

struct Foresight {
  std::vector<Check> checks;
  std::vector<Stage> stages;  // in order; none if the wish means nothing here, or all is so already
};

// What may be asked at most, and what the client knows; see permission.h.
struct Limits {
  UsersPolicy most_forceful = UsersPolicy::Wait;
  std::optional<uint64_t> if_match;
};

// The stages of next_stage(), played forward over `seen`. Pure.
std::vector<Stage> foretell(const Target& target, Seen seen, Memory memory);

// `desired` is what the generation in force wants, nothing has to be done for it, and nothing has failed since.
bool is_fulfilled(const View& view, const Desired& desired, const Target& target);

// As of view.seen. Reads the files of the version, and walks over all processes: takes seconds.
Foresight foresee(Node& node, const View& view, const Desired& desired, const Limits& limits);

// The first check that was not passed.
std::optional<Error> refusal_of(const Foresight& foresight);

}  // namespace nrd::onload
