// The commands of nrdctl. Each prints its result and returns the exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/printer.h"

namespace nrd::cli {

struct NewWorkload {
  std::string cpus;
  std::vector<std::string> tasks;  // processes and threads
  std::optional<uint32_t> max;     // L3 ways; both absent: no L3 request
  std::optional<uint32_t> min;
  std::optional<uint32_t> code;                      // of these ways
  std::optional<uint32_t> l2_ways, l2_code;          // of L2 caches beside L3
  std::optional<uint32_t> mba_percentage, mba_mbps;  // memory bandwidth
  std::string uuid;
  // Frequency; absent or empty members are not requested.
  std::optional<uint32_t> min_ratio, max_ratio, min_mhz, max_mhz;
  std::string governor;
  std::string epp;
  bool no_turbo = false;
  bool allow_shared_domain = false;
  std::optional<double> adaptive;  // branch misses in percent of hits
};

// True if the request names ways, bandwidth or a frequency, not only CPUs.
bool asks_something(const NewWorkload& wanted);
// The body of the POST; `owner`: JSON of the owning process, empty: none.
std::string workload_request(const NewWorkload& wanted, const std::string& owner = {});

int create_workload(const Client& client, Output output, const NewWorkload& wanted);
// Shows what create_workload() would do without applying it.
int dry_run_workload(const Client& client, Output output, const NewWorkload& wanted);
int list_workloads(const Client& client, Output output);
int show_workload(const Client& client, Output output, const std::string& id);
int delete_workloads(const Client& client, const std::vector<std::string>& ids);
int show_node(const Client& client, Output output);
int show_ways(const Client& client, Output output);

}  // namespace nrd::cli
