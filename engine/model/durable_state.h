// What the store holds. A commit of workloads that fails or freezes exchanges this half of NodeState as a whole, a
// claim that fails the baselines alone.
#pragma once

#include <cstdint>

#include "engine/model/baselines.h"
#include "engine/model/workloads.h"

namespace nrd {

struct DurableState {
  uint64_t revision = 0;  // of the store
  uint64_t next_id = 1;   // of the next workload without an id chosen by its client
  Workloads workloads;
  Baselines baselines;
};

}  // namespace nrd
