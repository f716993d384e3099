#include "cli/import_rmd/node_cache.h"

#include "base/file.h"
#include "base/number.h"
#include "base/way_mask.h"

namespace nrd::cli {
namespace {

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

}  // namespace nrd::cli
