// Chooses slots in one zone.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/cpu_pools.h"
#include "engine/plan/cpus/supply.h"

namespace nrd::plan {

struct Selection {
  const ZoneTree& tree;
  Counts usable{};                  // slots to choose from, one each
  Counts chosen{};                  // slots that the request has already; none of them is usable
  std::vector<Counts> preferred{};  // of the usable slots; the first most
  CpuPool::Order order = CpuPool::Order::Pack;
};

// The positions of `number` usable slots of `zone`, which has that many. Children are filled in this order:
//   pack:   1. those with the most chosen slots, 2. those with preferred ones; among equal ones
//           3. the one with the fewest slots that still holds all that is missing,
//           4. whole ones, idle before partly used, the largest first;
//   spread: 1. those with preferred slots; among equal ones a slot each in turn, first where the fewest are chosen,
//   then
//           where the most are left.
// What is equal by all this is taken in the order of CPU numbers.
std::vector<uint32_t> select(const Selection& selection, ZoneIndex zone, uint32_t number);

}  // namespace nrd::plan
