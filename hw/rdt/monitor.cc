#include "hw/rdt/monitor.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>

#include "base/file.h"
#include "hw/rdt/groups.h"
#include "hw/rdt/resctrl.h"

namespace nrd::rdt {
namespace {

constexpr const char* kOccupancy = "llc_occupancy";
constexpr const char* kTotal = "mbm_total_bytes";
constexpr const char* kLocal = "mbm_local_bytes";

bool has_line(std::string_view text, std::string_view line) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return false;  // cut off
    if (text.substr(0, end) == line) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

std::optional<uint64_t> whole_number(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// "/sys/fs/resctrl/COS2/mon_data/mon_L3_00": at least two digits, as the kernel writes it.
std::string counters_of(ClosId clos, CacheId cache) {
  std::string id = std::to_string(cache.value);
  if (id.size() < 2) id.insert(0, 1, '0');
  return kResctrl + directory_of(clos) + "/mon_data/mon_L3_" + id;
}

std::optional<uint64_t> read_count(const std::string& directory, const char* file) {
  const Result<std::optional<std::string>> text = read_file(directory + "/" + file);
  return text && *text ? parse_count(**text) : std::nullopt;
}

}  // namespace

std::optional<Monitoring> parse_monitoring(const std::optional<std::string>& num_rmids,
                                           const std::optional<std::string>& mon_features) {
  if (!num_rmids || !mon_features) return std::nullopt;
  const std::optional<uint64_t> groups = parse_count(*num_rmids);
  if (!groups || *groups > UINT32_MAX) return std::nullopt;
  const Monitoring monitoring{.groups = static_cast<unsigned>(*groups),
                              .occupancy = has_line(*mon_features, kOccupancy),
                              .total = has_line(*mon_features, kTotal),
                              .local = has_line(*mon_features, kLocal)};
  if (!monitoring.occupancy && !monitoring.total && !monitoring.local) return std::nullopt;
  return monitoring;
}

std::optional<Monitoring> read_monitoring() {
  const auto read = [](const char* file) {
    return read_file(std::string(kResctrl) + "/info/L3_MON/" + file).value_or(std::nullopt);
  };
  return parse_monitoring(read("num_rmids"), read("mon_features"));
}

std::optional<uint64_t> parse_count(std::string_view text) {
  // The kernel ends the line: half of a number is another one.
  return text.ends_with('\n') ? whole_number(text.substr(0, text.size() - 1)) : std::nullopt;
}

Usages read_usage(const Monitoring& monitoring, const std::map<ClosId, std::set<CacheId>>& classes) {
  Usages usages;
  for (const auto& [clos, caches] : classes) {
    for (const CacheId cache : caches) {
      const std::string directory = counters_of(clos, cache);
      if (::access(directory.c_str(), F_OK) != 0) continue;
      usages[clos][cache] = {.occupancy_bytes = monitoring.occupancy ? read_count(directory, kOccupancy) : std::nullopt,
                             .total_bytes = monitoring.total ? read_count(directory, kTotal) : std::nullopt,
                             .local_bytes = monitoring.local ? read_count(directory, kLocal) : std::nullopt};
    }
  }
  return usages;
}

}  // namespace nrd::rdt
