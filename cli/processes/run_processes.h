// nrdctl run --processes, and process-starter, as which CPU Pooler's containers call it: several processes with their
// own CPUs of one grant.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/new_workload.h"

namespace nrd::cli {

struct RunProcesses {
  NewWorkload workload;   // without pools
  std::string file;       // of the processes
  std::string container;  // empty: CONTAINER_NAME, or the only one
  bool exec_last = false;
};

// With EXCLUSIVE_CPUS or SHARED_CPUS in the environment, as in a container, on these CPUs; otherwise on CPUs that nrd
// grants.
OrStop<> run_processes(const Client& client, RunProcesses wanted);

// True if the program was called process-starter: CPU Pooler's annotation in /etc/podinfo/annotations says what to
// start; without one `command`.
bool is_process_starter(const std::string& program);
OrStop<> run_annotated(const std::vector<std::string>& command);

}  // namespace nrd::cli
