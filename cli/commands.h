// What nrdctl can do. Each command prints its result and returns the exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/client.h"

namespace nrd::cli {

struct Output {
  bool json = false;  // the daemon's answer as it is
  bool colour = false;
  bool terminal = false;  // a line may be written over
};

struct NewWorkload {
  std::string cpus;
  std::vector<std::string> tasks;  // processes and threads
  std::optional<uint32_t> max;     // ways; neither: no cache is asked for
  std::optional<uint32_t> min;
  std::optional<uint32_t> code;                      // of these ways
  std::optional<uint32_t> l2_ways, l2_code;          // of L2 caches beside L3
  std::optional<uint32_t> mba_percentage, mba_mbps;  // memory bandwidth
  std::string uuid;
  // Frequency; what is absent or empty is not asked for.
  std::optional<uint32_t> min_ratio, max_ratio, min_mhz, max_mhz;
  std::string governor;
  std::string epp;
  bool no_turbo = false;
  bool allow_shared_domain = false;
  std::optional<double> adaptive;  // branch misses in percent of hits
};

// More than CPUs: ways or a frequency.
bool asks_something(const NewWorkload& wanted);
// The body of its creation; `owner`: JSON of the process that it ends with, empty: none.
std::string workload_request(const NewWorkload& wanted, const std::string& owner = {});

int create_workload(const Client& client, Output output, const NewWorkload& wanted);
// What create_workload() would do, and nothing of it.
int dry_run_workload(const Client& client, Output output, const NewWorkload& wanted);
int list_workloads(const Client& client, Output output);
int show_workload(const Client& client, Output output, const std::string& id);
int delete_workloads(const Client& client, const std::vector<std::string>& ids);
int show_node(const Client& client, Output output);
int show_ways(const Client& client, Output output);

}  // namespace nrd::cli
