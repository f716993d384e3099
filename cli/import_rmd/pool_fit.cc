#include "cli/import_rmd/pool_fit.h"

#include <algorithm>
#include <utility>

namespace nrd::cli {
namespace {

constexpr Pools kOfRmd{};
constexpr unsigned kWaysOfRmd = 20;

}  // namespace

Pools fit_pools(const CacheWays& cache) {
  const auto part = [&cache](unsigned of_rmd) { return std::max(cache.ways * of_rmd / kWaysOfRmd, cache.min_ways); };
  Pools pools{
      .os = cache.min_ways, .guarantee = 0, .besteffort = part(kOfRmd.besteffort), .shared = part(kOfRmd.shared)};
  // If the cache is too small for all pools, shrink the guarantee pool last: it matters most.
  if (pools.sum() + cache.min_ways > cache.ways) pools.besteffort = 0;
  if (pools.sum() + cache.min_ways > cache.ways) pools.shared = 0;
  const unsigned rest = cache.ways - pools.sum();
  pools.guarantee = rest >= cache.min_ways ? rest : 0;
  return pools;
}

std::string misfit(const Pools& pools, const CacheWays& cache) {
  const std::string numbers = "OS " + std::to_string(pools.os) + " + guarantee " + std::to_string(pools.guarantee) +
                              " + besteffort " + std::to_string(pools.besteffort) + " + shared " +
                              std::to_string(pools.shared) + " = " + std::to_string(pools.sum()) + " ways";
  if (pools.sum() > cache.ways) return numbers + ", but each L3 cache here has " + std::to_string(cache.ways);
  const std::string least = "the smallest mask here has " + std::to_string(cache.min_ways);
  if (pools.os < cache.min_ways) return numbers + "; the OS pool needs ways, and " + least;
  for (const unsigned pool : {pools.guarantee, pools.besteffort, pools.shared}) {
    if (pool != 0 && pool < cache.min_ways) return numbers + "; " + least;
  }
  return {};
}

std::string drawing(const Pools& pools, const CacheWays& cache) {
  std::string drawn;
  for (const auto& [count, letter] : {std::pair{pools.os, 'O'}, std::pair{pools.guarantee, 'G'},
                                      std::pair{pools.besteffort, 'B'}, std::pair{pools.shared, 'S'}}) {
    drawn.append(count, letter);
  }
  drawn.append(cache.ways > pools.sum() ? cache.ways - pools.sum() : 0, '.');
  return drawn;
}

}  // namespace nrd::cli
