// What keeps the rest of the host off the CPUs of pools (cpu.confine). Computed from the pools, whether granted or not,
// so that grants change no mask outside nrd.slice.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/hardware.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/fwd.h"

namespace nrd {

// The slices of the host, or nrd's own, and where they run. Empty: nothing is confined.
std::map<cpuset::Target, CpuSet> confinement_of(const NodeState& state);
// The online CPUs that are left to what is confined.
CpuSet cpus_of_others(const NodeState& state);
// True if confining the rest of the host for the first time will overwrite masks of threads.
bool overwrites_unclaimed(const NodeState& state);
// nrd.slice as a partition, if it is to be one.
std::optional<cpuset::Masks> observed_partition(const NodeState& state);
// BadRequest at cpu.confine: there is nothing to keep the host off.
Result<void> check_has_pools(Confinement confinement, const CpuPools& pools);
// BadRequest at cpu.confine: this node cannot do it, for the reason given.
Result<void> check_confinement(const NodeConfig& config, const NodeFacts& facts);
// BadRequest with the units that could not start any more: all their CPUs would be out of reach.
Result<void> check_pinned_units(const NodeConfig& config, const NodeFacts& facts,
                                const std::map<std::string, CpuSet>& pinned);
// True if a start must not be refused for such units: workloads have to come back, or the host is confined already.
// Such a unit is a conflict then.
bool must_confine(const NodeState& state);
// Conflict with what workloads limit and `next` would confine: it would lose its CPUs. It is not confined now.
Result<void> check_limited_targets(const NodeState& state, Confinement next);
// Why the rest of the host may run on CPUs of pools although it is confined; empty: it may not.
std::string confinement_problem(const NodeState& state);

}  // namespace nrd
