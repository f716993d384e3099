#include "engine/model/pools.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "hw/rdt/types.h"

namespace nrd {
namespace {

struct Sizes {
  unsigned os, guarantee, besteffort, shared, infra;
  unsigned sum() const { return os + guarantee + besteffort + shared + infra; }
};

// Defaults for everything except the infrastructure's ways.
Sizes default_sizes(unsigned ways, unsigned min_ways, unsigned infra) {
  const auto at_least = [min_ways](unsigned n) { return std::max(n, min_ways); };
  Sizes sizes{.os = min_ways,
              .guarantee = 0,
              .besteffort = at_least(ways / 3),
              .shared = at_least((ways + 3) / 6),  // a sixth, rounded
              .infra = infra};
  // Clients want guarantees most, so that pool is emptied last.
  if (sizes.sum() + min_ways > ways) sizes.besteffort = 0;
  if (sizes.sum() + min_ways > ways) sizes.shared = 0;
  return sizes;
}

std::string described(const Sizes& s) {
  return fmt::format("os {} + guarantee {} + besteffort {} + shared {} + infra {}", s.os, s.guarantee, s.besteffort,
                     s.shared, s.infra);
}

Failure does_not_fit(const Sizes& sizes, const rdt::Cat& cat, const std::string& why) {
  return fail_at(ErrorCode::BadRequest, "cache_pools",
                 fmt::format("cache_pools: {} = {} ways, {}", described(sizes), sizes.sum(), why),
                 fmt::format("together at most {} ways, each 0 or at least {}", cat.ways, cat.min_ways));
}

}  // namespace

Result<PoolPartition> plan_layout(const rdt::Cat& cat, const PoolSizes& configured) {
  Sizes sizes = default_sizes(cat.ways, cat.min_ways, configured.infra);
  sizes.os = configured.os.value_or(sizes.os);
  sizes.besteffort = configured.besteffort.value_or(sizes.besteffort);
  sizes.shared = configured.shared.value_or(sizes.shared);
  sizes.guarantee = 0;
  const unsigned others = sizes.sum();
  const unsigned rest = others < cat.ways ? cat.ways - others : 0;
  sizes.guarantee = configured.guarantee.value_or(rest >= cat.min_ways ? rest : 0);

  if (sizes.sum() > cat.ways) {
    return does_not_fit(sizes, cat, fmt::format("but each L3 cache has {}", cat.ways));
  }
  if (sizes.os < cat.min_ways) return does_not_fit(sizes, cat, "and the OS needs a way of its own");
  for (const unsigned pool : {sizes.guarantee, sizes.besteffort, sizes.shared, sizes.infra}) {
    if (pool != 0 && pool < cat.min_ways) return does_not_fit(sizes, cat, "and a pool is below the smallest mask");
  }
  PoolPartition layout;
  layout.os = WayMask::run(0, sizes.os);
  layout.guarantee = WayMask::run(sizes.os, sizes.guarantee);
  layout.besteffort = WayMask::run(sizes.os + sizes.guarantee, sizes.besteffort);
  layout.shared = WayMask::run(sizes.os + sizes.guarantee + sizes.besteffort, sizes.shared);
  layout.infra = WayMask::run(cat.ways - sizes.infra, sizes.infra);
  return layout;
}

PoolPartition plan_l2_layout(const rdt::Cat& cat) {
  PoolPartition layout;
  layout.os = WayMask::run(0, cat.min_ways);
  layout.guarantee = WayMask::all(cat.ways) - layout.os;
  return layout;
}

}  // namespace nrd
