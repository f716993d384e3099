#include "cli/human_units.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "cli/answer.h"

namespace nrd::cli {

std::string mib(uint64_t bytes) { return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0)); }

std::string ghz(uint64_t khz) { return fmt::format("{:.3g}", static_cast<double>(khz) / 1e6); }

std::string gb_per_second(uint64_t mbps) { return fmt::format("{:.4g} GB/s", static_cast<double>(mbps) / 1000.0); }

std::string frequencies_of(const json::Value& workload) {
  uint64_t least = std::numeric_limits<uint64_t>::max();
  uint64_t most = 0;
  for (const json::Member& cpu : part(workload, "granted_frequencies").members()) {
    least = std::min(least, part(cpu.value, "min_khz").as_unsigned().value_or(least));
    most = std::max(most, part(cpu.value, "max_khz").as_unsigned().value_or(0));
  }
  if (least > most) return "";
  return fmt::format("{}{} GHz", least == most ? "" : ghz(least) + " - ", ghz(most));
}

std::string granted_ways_of(const json::Value& workload, const json::Value& node) {
  std::string text;
  for (const json::Member& granted : part(workload, "granted_ways").members()) {
    const auto ways = part(granted.value, "ways").as_unsigned();
    if (!ways) continue;
    text += fmt::format("{}{}: {}{}", text.empty() ? "cache " : "; cache ", granted.key, *ways,
                        *ways == 1 ? " way" : " ways");
    for (const json::Value& cache : part(node, "caches").items()) {
      const auto bytes = part(cache, "way_bytes").as_unsigned();
      if (text_at(cache, "id") == granted.key && bytes) text += ", " + mib(*ways * *bytes);
    }
  }
  return text;
}

}  // namespace nrd::cli
