// The processes of a container as CPU Pooler's annotation has them:
//
//   [{"container": "main", "processes": [{"process": "/bin/feed", "args": ["-v"], "pool": "fast", "cpus": 2},
//                                        {"process": "log", "pool": "common", "cpus": 500}]}]
//
// cpus: whole CPUs of an exclusive pool, thousandths of one of a shared pool. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "cli/granted_cpus.h"

namespace nrd::cli {

struct ListedProcess {
  std::vector<std::string> command;  // the program and its arguments
  std::string pool;
  uint32_t cpus = 0;
  friend bool operator==(const ListedProcess&, const ListedProcess&) = default;
};

// Those of `container`; empty: there is only one. Strict: errors name the JSON pointer and what is allowed.
Result<std::vector<ListedProcess>> parse_processes(const std::string& text, const std::string& container);

// The CPUs of each process, of those that were granted: exclusive ones in their order, each once; of shared pools all.
// Fails if there are too few, or if they do not say to which pool they belong.
Result<std::vector<CpuSet>> assign_cpus(const std::vector<ListedProcess>& processes, const GrantedCpus& granted);

// The pools of `processes`, in their order, as `nrdctl run --pool` takes them: "fast=2", "common=500m". `shared`: names
// of shared pools.
std::vector<std::string> pool_requests(const std::vector<ListedProcess>& processes,
                                       const std::vector<std::string>& shared);

// The CPUs that a container has according to EXCLUSIVE_CPUS and SHARED_CPUS, by pool as NRD_POOLS says. CPU Pooler does
// not set that one: without it exclusive CPUs are of the pool in `processes` that does not begin with "shared" or
// "default".
Result<GrantedCpus> cpus_of_container(const Environment& environment, const std::vector<ListedProcess>& processes);

}  // namespace nrd::cli
