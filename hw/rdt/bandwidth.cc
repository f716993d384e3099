#include "hw/rdt/bandwidth.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/file.h"
#include "base/split.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

constexpr uint32_t kWhole = 100;         // percent
constexpr uint32_t kMostEighths = 2048;  // MAX_MBA_BW_AMD; newer kernels read it from CPUID and may have more

std::string limit_of(ClosId clos, CacheId cache, uint32_t value) {
  return fmt::format("class {} on {} did not take bandwidth {}", text_of(clos), text_of(cache), value);
}

// nullopt: it has none.
std::optional<uint32_t> limit_in(const Observed& observed, ClosId clos, CacheId cache) {
  const Class* group = find_in(observed.classes, clos);
  const uint32_t* limit = group ? find_in(group->bandwidth, cache) : nullptr;
  return limit ? std::optional(*limit) : std::nullopt;
}

}  // namespace

MbaUnit unit_of(bool is_amd, bool is_mounted_in_mbps, uint32_t largest) {
  if (is_amd) return MbaUnit::EighthsOfGbps;
  return is_mounted_in_mbps || largest > kWhole ? MbaUnit::Mbps : MbaUnit::Percent;
}

uint32_t most_in(MbaUnit unit, bool is_mounted_in_mbps, uint32_t largest) {
  switch (unit) {
    case MbaUnit::Percent: return kWhole;
    case MbaUnit::Mbps: return is_mounted_in_mbps ? kUnlimitedMbps : largest;
    case MbaUnit::EighthsOfGbps: return std::max(largest, kMostEighths);
  }
  return largest;
}

bool is_mounted_in_mbps(std::string_view mountinfo) {
  while (!mountinfo.empty()) {
    const std::string_view line = take_until(mountinfo, '\n');
    const bool is_resctrl = line.find(fmt::format(" {} ", kResctrl)) != std::string_view::npos;
    if (is_resctrl && line.find("mba_MBps") != std::string_view::npos) return true;
  }
  return false;
}

Result<MbaInfo> with_unit(MbaInfo info, bool is_amd) {
  const std::vector<std::string> groups = TRY(list_groups());
  std::vector<std::string> directories{""};
  for (const std::string& group : groups) directories.push_back("/" + group);
  uint32_t largest = 0;
  for (const std::string& directory : directories) {
    const auto limits = read_limits(directory);
    if (!limits || !*limits) continue;  // one unreadable group does not affect the unit
    for (const auto& [cache, value] : **limits) largest = std::max(largest, value);
  }
  constexpr size_t kMountsLimit = size_t{4} << 20;
  const std::optional<std::string> mounts = TRY(read_file("/proc/self/mountinfo", kMountsLimit));
  const bool is_in_mbps = is_mounted_in_mbps(mounts.value_or(""));
  info.unit = unit_of(is_amd, is_in_mbps, largest);
  info.most = most_in(info.unit, is_in_mbps, largest);
  return info;
}

Result<Limits> limits_to_write(const Observed& observed, const Setting& wanted, const std::optional<MbaInfo>& now) {
  Limits limits;
  for (const auto& [clos, caches] : wanted.bandwidth) {
    for (const auto& [cache, limit] : caches) {
      if (!now || now->unit != limit.unit) {
        return fail(ErrorCode::Hardware,
                    limit_of(clos, cache, limit.value) + ": resctrl now uses another bandwidth unit");
      }
      if (limit_in(observed, clos, cache) != limit.value) limits[clos][cache] = limit.value;
    }
  }
  return limits;
}

Result<void> write_limits(const Limits& limits) {
  for (const auto& [clos, caches] : limits) {
    for (const auto& [cache, value] : caches) {
      const std::string line = fmt::format("MB:{}={}\n", cache.value, value);
      const Result<void> written = write_line(directory_of(clos), "schemata", line);
      if (!written) return Failure(refused_write(written.error(), limit_of(clos, cache, value)));
    }
  }
  return {};
}

Result<void> read_back(const Limits& limits, Observed& observed) {
  for (const auto& [clos, caches] : limits) {
    const std::optional<std::map<CacheId, uint32_t>> shown = TRY(read_limits(directory_of(clos)));
    observed.classes[clos].bandwidth = shown.value_or(std::map<CacheId, uint32_t>());
    for (const auto& [cache, value] : caches) {
      const std::optional<uint32_t> found = limit_in(observed, clos, cache);
      if (found == value) continue;
      return fail(ErrorCode::Hardware, fmt::format("{} (found {})", limit_of(clos, cache, value),
                                                   found ? std::to_string(*found) : "nothing"));
    }
  }
  return {};
}

}  // namespace nrd::rdt
