// What nrdctl can do. Each command prints its result and returns the exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"

namespace nrd::cli {

enum Exit : int { kDone = 0, kRefused = 1, kUsage = 2, kUnreachable = 3 };

struct Output {
  bool json = false;  // the daemon's answer as it is
  bool colour = false;
};

struct NewWorkload {
  std::string cpus;
  uint32_t max = 0;
  uint32_t min = 0;
  std::string uuid;
};

int create_workload(const Client& client, Output output, const NewWorkload& wanted);
int list_workloads(const Client& client, Output output);
int show_workload(const Client& client, Output output, const std::string& id);
int delete_workloads(const Client& client, const std::vector<std::string>& ids);
int show_node(const Client& client, Output output);
int show_ways(const Client& client, Output output);

}  // namespace nrd::cli
