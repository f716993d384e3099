// Branches that CPUs retire, and those that were predicted wrongly, counted by the hardware through perf.
//
// One pair of counters a CPU, for whatever runs there, opened when a CPU is first asked for and closed when it no
// longer is. Engine thread only.
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

  // What each of these CPUs has counted since it was first asked for. CPUs that are not there, or whose counters had to
  // be opened anew, begin at what they say now; who cannot be read is left out. Others are closed.
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
