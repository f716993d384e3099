// Starts processes, each on its CPUs from its first instruction, and waits for them as their parent.
//
// Signals that another process sends to this one are forwarded; those of the terminal reach all of them anyway. When
// one fails, the others get SIGTERM and ten seconds later SIGKILL.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "cli/answer.h"
#include "cli/environment.h"

namespace nrd::cli {

struct Started {
  std::vector<std::string> command;
  CpuSet cpus;  // empty: where this process runs
};

// Ends with the exit status of the first that fails (128 and the number of its signal), or 0.
OrStop<> supervise(const std::vector<Started>& processes, const Environment& environment);
// Starts all but the last, which takes the place of this process. Returns only on failure, after the others have ended.
OrStop<> execute_last(const std::vector<Started>& processes, const Environment& environment);

}  // namespace nrd::cli
