#include "cli/import_rmd/pool_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/way_mask.h"

namespace nrd::cli {
namespace {

constexpr Pools kOfRmd{};
constexpr unsigned kWaysOfRmd = 20;

constexpr const char* kInfo = "/sys/fs/resctrl/info/";
constexpr const char* kFolders[] = {"L3", "L3CODE", "L2", "L2CODE"};  // the first that exists, as in nrd
constexpr const char* kIsolated = "/sys/devices/system/cpu/isolated";

std::string content_of(const std::string& path) {
  const Result<std::optional<std::string>> text = read_file(path);
  return text ? text->value_or("") : std::string();
}

}  // namespace

std::optional<CacheWays> cache_ways_of(const std::string& cbm_mask, const std::string& min_cbm_bits) {
  const std::optional<uint32_t> mask = parse_number<uint32_t>(trimmed(cbm_mask), 16);
  const std::optional<uint32_t> least = parse_number<uint32_t>(trimmed(min_cbm_bits), 10);
  if (!mask || !least || *mask == 0 || *least == 0) return std::nullopt;
  const CacheWays cache{.ways = WayMask(*mask).count(), .min_ways = *least};
  if (WayMask::all(cache.ways) != WayMask(*mask) || cache.min_ways > cache.ways) return std::nullopt;
  return cache;
}

std::optional<CacheWays> read_cache_ways() {
  for (const char* name : kFolders) {
    const std::string folder = std::string(kInfo) + name;
    if (const std::string mask = content_of(folder + "/cbm_mask"); !mask.empty()) {
      return cache_ways_of(mask, content_of(folder + "/min_cbm_bits"));
    }
  }
  return std::nullopt;
}

std::string read_isolated_cpus() { return std::string(trimmed(content_of(kIsolated))); }

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
  const std::string numbers = fmt::format("OS {} + guarantee {} + besteffort {} + shared {} = {} ways", pools.os,
                                          pools.guarantee, pools.besteffort, pools.shared, pools.sum());
  if (pools.sum() > cache.ways) return fmt::format("{}, but each L3 cache here has {}", numbers, cache.ways);
  const std::string least = fmt::format("the smallest mask here has {}", cache.min_ways);
  if (pools.os < cache.min_ways) return fmt::format("{}; the OS pool needs ways, and {}", numbers, least);
  for (const unsigned pool : {pools.guarantee, pools.besteffort, pools.shared}) {
    if (pool != 0 && pool < cache.min_ways) return fmt::format("{}; {}", numbers, least);
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
