// nrdctl export tuned and irqbalance: the CPUs of workloads as configuration of programs that would otherwise place
// other processes and interrupts there.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/json/value.h"
#include "cli/answer.h"
#include "cli/client.h"

namespace nrd::cli {

// The CPUs of all workloads in the answer of GET /v1/workloads; kRefused: one of them has no CPU list.
OrStop<CpuSet> cpus_of(const json::Value& workloads);

// The variable of /etc/default/irqbalance.
std::string irqbalance_line(const CpuSet& cpus);

// The cgroup of a process in the text of /proc/PID/cgroup, in systemd's hierarchy or the unified one; empty: the root,
// or none.
std::string cgroup_in(const std::string& text);

// Whose processes tuned must leave on the CPUs.
struct TunedProfile {
  CpuSet cpus;
  std::set<std::string> cgroups;     // of owners and tasks: "/system.slice/feed.service"
  std::vector<std::string> unknown;  // workloads with CPUs whose processes nrd does not know: "5 (feed)"
};
std::string tuned_text(const TunedProfile& profile);

OrStop<> export_irqbalance(const Client& client, Output output);
OrStop<> export_tuned(const Client& client, Output output);

}  // namespace nrd::cli
