// What would become of a spec: whether anything is in its plan, and the steps it would take. Nothing is touched, and
// nothing of it is remembered.
#pragma once

#include <optional>
#include <vector>

#include "engine/onload/host.h"
#include "engine/onload/next_step.h"
#include "engine/onload/status.h"

namespace nrd::onload {

struct DryRun {
  std::vector<Check> checks;
  std::vector<NextStep> steps;  // in order; none if the spec means nothing here, or all is so already
};

// What may be asked at most, and what the client knows; see permission.h.
struct Limits {
  UsersPolicy most_forceful = UsersPolicy::Wait;
  std::optional<uint64_t> if_match;
};

// The steps of next_step(), played forward over `seen`. Pure.
std::vector<NextStep> next_steps_of(const Target& target, Seen seen, RunState run_state);

// `spec` is what the generation in force wants, nothing has to be done for it, and nothing has failed since.
bool is_fulfilled(const Status& status, const Spec& spec, const Target& target);

// As of status.seen. Reads the files of the version, and walks over all processes: takes seconds.
DryRun dry_run(Host& node, const Status& status, const Spec& spec, const Limits& limits);

// The first check that was not passed.
std::optional<Error> refusal_of(const DryRun& dry_run_);

}  // namespace nrd::onload
