// nrdctl reset: releases everything nrd holds, and removes leftover foreign groups.
#pragma once

#include <string>

#include "cli/answer.h"

namespace nrd::cli {

struct Reset {
  bool is_confirmed = false;  // --yes: skip the confirmation
  std::string foreign;        // name pattern (fnmatch(3)); empty: foreign groups stay
};

// Runs `nrd --unconfine` if no daemon is running.
OrStop<> unconfine(const Client& client, Output output);

// Deletes all workloads; runs `nrd --reset` if no daemon is running.
OrStop<> reset(const Client& client, Output output, const Reset& wanted);

}  // namespace nrd::cli
