// The commands of nrdctl. Each prints its result and returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/new_workload.h"
#include "cli/printer.h"

namespace nrd::cli {

int create_workload(const Client& client, Output output, const NewWorkload& wanted);
// Shows what create_workload() would do without applying it.
int dry_run_workload(const Client& client, Output output, const NewWorkload& wanted);
int list_workloads(const Client& client, Output output);
int show_workload(const Client& client, Output output, const std::string& id);
int delete_workloads(const Client& client, const std::vector<std::string>& ids);
int show_node(const Client& client, Output output);
int show_ways(const Client& client, Output output);

}  // namespace nrd::cli
