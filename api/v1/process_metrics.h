// Metrics of nrd's own process, under the names that Prometheus's client libraries use.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/metrics/exposition.h"

namespace nrd::v1 {

// Fields of /proc/PID/stat (proc(5)).
struct ProcessStat {
  double cpu_seconds = 0;
  double threads = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
  friend bool operator==(const ProcessStat&, const ProcessStat&) = default;
};
// nullopt if the text is not complete.
std::optional<ProcessStat> parse_process_stat(std::string_view text, double ticks_per_second, double page_bytes);

// `start_time`: seconds since the epoch.
void add_process(std::vector<metrics::Family>& families, double start_time);

}  // namespace nrd::v1
