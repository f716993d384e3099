// nrdctl reset: gives everything back that nrd holds, and removes leftover groups of others.
#pragma once

#include <string>

#include "cli/client.h"

namespace nrd::cli {

struct Reset {
  bool is_confirmed = false;  // --yes: nothing is asked
  std::string foreign;        // pattern of names (fnmatch(3)); empty: groups of others stay
};

// Deletes all workloads; where no daemon runs, `nrd --reset` does it.
int reset(const Client& client, const Reset& wanted);

}  // namespace nrd::cli
