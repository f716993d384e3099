// CPU time of workloads in shared pools, as cpu.weight and cpu.max of their scope, unit or cgroup. Computed from the
// requests, never stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "engine/model/fwd.h"
#include "hw/cpuset/types.h"

namespace nrd {

inline constexpr uint64_t kThousandths = 1000;  // of a CPU

// cpu.weight for `milli` thousandths of a CPU, 1 to 10000; one CPU has 39. As Kubernetes and systemd convert shares of
// cgroup v1, of which one CPU has 1024.
uint32_t weight_of(uint32_t milli);
// The limit in thousandths of a CPU.
uint64_t milli_of(const cpuset::Share& share);
// Thousandths of a CPU that `workload`, or all workloads, request in this pool.
uint64_t requested_milli(const Workload& workload, const CpuPool& pool);
uint64_t requested_milli(const NodeState& state, const CpuPool& pool);
// What its tasks get; nullopt: nothing is requested, or it has no scope, unit or cgroup.
std::optional<cpuset::Share> share_of(const Workload& workload);
// The targets whose CPU time matters: those of workloads, and those that nrd has to restore.
std::set<cpuset::Target> targets_with_share(const NodeState& state);
// The shares of workloads, by target.
std::map<cpuset::Target, cpuset::Share> shares_in_use(const NodeState& state);
// True if its tasks, as last observed, get what they should.
bool has_its_share(const NodeState& state, const Workload& workload);

}  // namespace nrd
