// An operation: memory of a running unit, cgroup or scope moves to other NUMA nodes, before a workload is bound to
// them. Kept until nrd ends; after a restart the workloads say what holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/shared.h"
#include "hw/cpuset/types.h"

namespace nrd {

struct MemoryMove {
  enum class State {
    Waiting,   // for another one
    Moving,    // the kernel moves pages
    Applying,  // the rest of the change
    Succeeded,
    Failed,
    Cancelled,
  };
  WorkloadId workload;
  std::string workload_text{};  // its id as clients know it
  bool only_binds = false;      // of a new workload; otherwise the whole change waits
  cpuset::Target target{};
  cpuset::MemoryNodes from{};
  cpuset::MemoryNodes to{};
  uint64_t bytes = 0;  // that the target had at the start; 0: not known
  State state = State::Waiting;
  Time started{};
  std::optional<Time> finished{};
  std::string message{};  // why it failed or was cancelled
  bool is_open() const { return state == State::Waiting || state == State::Moving || state == State::Applying; }
  friend bool operator==(const MemoryMove&, const MemoryMove&) = default;
};

inline const char* to_string(MemoryMove::State state) {
  switch (state) {
    case MemoryMove::State::Waiting: return "waiting";
    case MemoryMove::State::Moving: return "moving";
    case MemoryMove::State::Applying: return "applying";
    case MemoryMove::State::Succeeded: return "succeeded";
    case MemoryMove::State::Failed: return "failed";
    case MemoryMove::State::Cancelled: return "cancelled";
  }
  return "";
}

// By id, which is never used twice, also after a restart.
using MemoryMoves = SharedMap<uint64_t, MemoryMove>;
inline constexpr size_t kMostMemoryMoves = 64;     // more that have ended are forgotten, the oldest first
inline constexpr size_t kMostOpenMemoryMoves = 8;  // more are refused

}  // namespace nrd
