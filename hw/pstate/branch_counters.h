// Counts retired branches and mispredicted ones in hardware, through perf.
//
// One pair of counters per CPU, for everything that runs there, opened when a CPU is first requested and closed when it
// no longer is. Engine thread only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

class BranchCounters {
 public:
  // Why branches cannot be counted on `cpu`, one sentence; nullopt if they can.
  static std::optional<std::string> missing(CpuId cpu);

  // Counts of each CPU since its first request. A CPU whose counters were reopened starts from their present value;
  // unreadable CPUs are left out. Closes the counters of all other CPUs.
  std::map<CpuId, BranchCounts> read(const CpuSet& cpus);

 private:
  struct Pair {
    UniqueFd branches;  // leader of the group: reading it reads both
    UniqueFd misses;
  };
  static Result<Pair> open(CpuId cpu);
  static std::optional<BranchCounts> read(const Pair& pair);

  std::map<CpuId, Pair> pairs_;
};

}  // namespace nrd::pstate
