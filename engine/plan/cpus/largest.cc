#include "engine/plan/cpus/largest.h"

#include <algorithm>

#include "engine/plan/cpus/slots.h"
#include "engine/plan/cpus/supply.h"

namespace nrd::plan {

std::map<cpuset::Level, uint32_t> largest_requests(const ZoneTree& tree, const CpuPool& pool, const CpuSet& free) {
  const Situation situation{.tree = tree, .pool = pool, .free = free};
  const Supply supply(tree, slots_of(situation, {.pool = pool.name, .count = 1}), {});
  std::map<cpuset::Level, uint32_t> largest;
  for (ZoneIndex i = 0; i < tree.zones().size(); ++i) {
    const TreeZone& zone = tree.zones()[i];
    if (pool.never_crosses && !tree.stays_within(i, pool.within)) continue;
    for (const ZoneLabel& label : zone.labels)
      largest[label.level] = std::max(largest[label.level], supply.usable().in(zone));
  }
  return largest;
}

}  // namespace nrd::plan
