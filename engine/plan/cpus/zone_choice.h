// Chooses a zone among several by an ordered list of criteria. The list is data: what differs between two ways of
// placing CPUs, the orders of pools, is the list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/cpu_pools.h"
#include "engine/plan/cpus/supply.h"

namespace nrd::plan {

// What criteria look at.
struct ChoiceFacts {
  const Supply& supply;
  uint32_t number = 0;                        // of CPUs requested
  std::vector<Counts> preferred{};            // usable CPUs in each preferred set
  std::vector<Counts> online_in_preferred{};  // all online CPUs in each preferred set
};

struct Criterion {
  std::string_view name{};  // "smallest remainder in an L3"
  // The least wins. Its third argument is the criterion itself: `level` and `preferred` are for it.
  int64_t (*cost)(const ChoiceFacts& facts, ZoneIndex zone, const Criterion& criterion) = nullptr;
  cpuset::Level level = cpuset::Level::Machine;
  size_t preferred = 0;
  bool is_requested = false;  // named in the reason whenever it rules out a zone, because the client asked for it
};

// A set of CPUs that a request prefers, and how a reason names this: "nearest to eth1".
struct Preference {
  std::string name{};
  CpuSet cpus{};
};

// The preferences, the first most, and then the list of the order. Refers to the names of `preferences`.
std::vector<Criterion> criteria_of(CpuPool::Order order, const std::vector<Preference>& preferences);

struct ZoneChoice {
  ZoneIndex zone = 0;
  std::string reason{};
};

// `candidates` is not empty, and the last criterion leaves one of them. The reason names the criterion that separates
// the winner from the second-best, after those that the client requested and that ruled out others before.
ZoneChoice choose_zone(const ChoiceFacts& facts, std::vector<ZoneIndex> candidates,
                       const std::vector<Criterion>& criteria);

}  // namespace nrd::plan
