// Predicts an operation: the checks of its spec and the steps it would take. Changes nothing.
#pragma once

#include <optional>
#include <vector>

#include "engine/onload/host.h"
#include "engine/onload/next_step.h"
#include "engine/onload/status.h"

namespace nrd::onload {

struct DryRun {
  std::vector<Check> checks;
  std::vector<NextStep> steps;  // in order; none if a check fails or nothing needs to change
};

// Limits on requests; see preconditions.h.
struct Limits {
  UsersPolicy most_forceful = UsersPolicy::Wait;
  std::optional<uint64_t> if_match;
};

// True if the effective generation has this spec, nothing needs to change, and the last operation succeeded.
bool is_fulfilled(const Status& status, const Spec& spec, const Target& target);

// Based on status.observed. Reads the version's files and walks all processes: takes seconds.
DryRun dry_run(Host& node, const Status& status, const Spec& spec, const Limits& limits);

// The first failed check.
std::optional<Error> refusal_of(const DryRun& dry_run_);

}  // namespace nrd::onload
