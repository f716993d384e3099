// The commands of nrdctl. Each prints its result.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/new_workload.h"
#include "cli/printer.h"

namespace nrd::cli {

Outcome<> create_workload(const Client& client, Output output, const NewWorkload& wanted);
// Shows what create_workload() would do without applying it.
Outcome<> dry_run_workload(const Client& client, Output output, const NewWorkload& wanted);
Outcome<> list_workloads(const Client& client, Output output);
Outcome<> show_workload(const Client& client, Output output, const std::string& id);
Outcome<> delete_workloads(const Client& client, const std::vector<std::string>& ids);
Outcome<> show_node(const Client& client, Output output);
Outcome<> show_ways(const Client& client, Output output);

}  // namespace nrd::cli
