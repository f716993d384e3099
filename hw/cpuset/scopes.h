// Scopes of systemd below nrd.slice: a process with all that it starts, on its own CPUs. Its processes cannot leave
// these, whatever affinity they choose.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

// Whether or not it exists.
std::string cgroup_of_scope(const Target& scope);

// nullopt: its process has ended. Before its process has moved, where this may run.
Result<std::optional<Masks>> masks_of_scope(const Target& scope);
// Moves the process if it is elsewhere. Hardware: the cgroup's effective set is another one. Nothing happens if the
// process has ended.
// `nodes`: those of its memory when it starts; empty: all.
Result<void> limit_scope(Units& units, const Target& scope, const CpuSet& cpus, const MemoryNodes& nodes,
                         Deadline deadline);
// The process stays in the scope, which has all CPUs of the host, and gets its masks back.
Result<void> release_scope(Units& units, const Target& scope, const Masks& before, Deadline deadline);

}  // namespace nrd::cpuset
