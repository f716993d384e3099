// Commands that show a node and its configuration: status, capacity, policies, configuration, versions.
#pragma once

#include <string>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/printer.h"

namespace nrd::cli {

// Health, classes, pools, workloads and warnings on one screen. kRefused if nrd is degraded.
OrStop<> show_status(const Client& client, Output output);
// What a new workload could get on each cache.
OrStop<> show_capacity(const Client& client, Output output);
OrStop<> list_policies(const Client& client, Output output);
OrStop<> show_policy(const Client& client, Output output, const std::string& name);
OrStop<> show_frequencies(const Client& client, Output output);
// The configuration in force, each value with its file and line.
OrStop<> show_configuration(const Client& client, Output output);
OrStop<> reload(const Client& client, Output output, bool is_dry);
// Of nrdctl, which is `own`, and of the daemon.
OrStop<> show_version(const Client& client, Output output, const std::string& own);

}  // namespace nrd::cli
