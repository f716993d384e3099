// The commands of nrdctl. Each prints its result.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/new_workload.h"
#include "cli/printer.h"

namespace nrd::cli {

OrStop<> create_workload(const Client& client, Output output, const NewWorkload& wanted);
// Shows what create_workload() would do without applying it.
OrStop<> dry_run_workload(const Client& client, Output output, const NewWorkload& wanted);
// Changes the given parts of a workload, and keeps the rest.
OrStop<> update_workload(const Client& client, Output output, const std::string& called, const NewWorkload& wanted);

struct WorkloadFilter {
  std::string name;
  std::vector<std::string> labels;  // "team=trading", "team"
  bool watch = false;               // print the list again after each change
};
OrStop<> list_workloads(const Client& client, Output output, const WorkloadFilter& filter);
// Workloads are called by id, uuid or name.
OrStop<> show_workload(const Client& client, Output output, const std::string& called);
// All that is known of one workload, and the drawing of its caches.
OrStop<> describe_workload(const Client& client, Output output, const std::string& called);
OrStop<> delete_workloads(const Client& client, Output output, const std::vector<std::string>& called, bool is_forced);
enum class Awaited { Successful, Deleted };
// kTryLater after `seconds`.
OrStop<> wait_for_workload(const Client& client, const std::string& called, Awaited awaited, unsigned seconds);
OrStop<> show_node(const Client& client, Output output);
OrStop<> show_cpus(const Client& client, Output output);
OrStop<> show_cpu_pool(const Client& client, Output output, const std::string& name);
OrStop<> check_cpu_pools(const Client& client, Output output, const std::string& name);
OrStop<> show_ways(const Client& client, Output output);

}  // namespace nrd::cli
