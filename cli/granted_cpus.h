// The CPUs that a command has: what nrd granted, or what stands in the environment of a container.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "cli/answer.h"
#include "cli/environment.h"

namespace nrd::cli {

struct GrantedCpus {
  struct OfPool {
    std::string pool;
    CpuSet exclusive;
    CpuSet shared;
    friend bool operator==(const OfPool&, const OfPool&) = default;
  };
  std::string workload;
  std::vector<OfPool> by_pool;
  bool has_scope = false;  // of systemd, which has just these CPUs
  CpuSet exclusive() const;
  CpuSet shared() const;
};

// Of a workload that nrd has created.
OrStop<GrantedCpus> granted_cpus(const Answer& answer);
// NRD_CPUS, NRD_POOLS ("fast=4-5;common=8-9") and others, and EXCLUSIVE_CPUS and SHARED_CPUS as CPU Pooler sets them:
// lists without ranges.
void set_variables(Environment& environment, const GrantedCpus& granted);
// Of this process; as sched_setaffinity(2).
int set_affinity(const CpuSet& cpus);
// On all CPUs that the kernel permits: it clips the mask to the scope. The caller's own mask may have none of its CPUs.
// Before Linux 6.2 joining the scope has done this.
void run_anywhere_within();

}  // namespace nrd::cli
