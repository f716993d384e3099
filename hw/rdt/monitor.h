// What resctrl counts: how much of the cache a class fills, and its traffic with memory.
//
// Read from the kernel's own files, mon_data of the class's group, and not through libpqos: pqos_mon_start_cores()
// makes a group below mon_groups and moves the CPUs into it, away from the group where somebody else may be counting
// them. mon_data of a class needs no such group, writes nothing, and holds for CPUs and tasks alike; what groups below
// mon_groups count is part of it (Documentation/filesystems/resctrl).
//
//   /sys/fs/resctrl/COS2/mon_data/mon_L3_00/llc_occupancy      bytes in the cache with id 0
//                                           mbm_total_bytes    a counter that only grows
//                                           mbm_local_bytes
//
// With sub-NUMA clusters mon_L3_00 has a folder mon_sub_L3_01 for each NUMA node, and is itself their sum.
//
// A file may say "Unavailable" (no value at this moment) or "Error" (the hardware has none) instead of a number.
//
// Where bandwidth counters are assigned to groups (Monitoring::assigned_counters) the kernel gives each new group one
// for each event and domain, as long as it has some. nrd frees those of its classes again, and assigns one only where
// a workload is monitored: other groups and workloads need them, too. They stay until the group is removed, because a
// counter that is assigned again begins at 0.
//
// Only the engine thread may call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// The files num_rmids and mon_features of info/L3_MON, nullopt where there is none. Without one of them, or with no
// feature that is known, nothing is counted.
std::optional<Monitoring> parse_monitoring(const std::optional<std::string>& num_rmids,
                                           const std::optional<std::string>& mon_features);
// Monitoring::assigned_counters from mbm_assign_mode ("[mbm_event]\ndefault") and num_mbm_cntrs ("0=32;1=32").
std::optional<unsigned> parse_assigned_counters(const std::optional<std::string>& mode,
                                                const std::optional<std::string>& counters);
// All of it, of this host; nullopt also while resctrl is not mounted.
std::optional<Monitoring> read_monitoring();

// One file of mon_data; nullopt: it says no number.
std::optional<uint64_t> parse_count(std::string_view text);

// Which counters a group has, by event and domain, from "mbm_total_bytes:0=e;1=_": {mbm_total_bytes: {0}}. nullopt: it
// is not understood.
using Assignments = std::map<std::string, std::set<uint32_t>, std::less<>>;
std::optional<Assignments> parse_assignments(std::string_view text);

// Of these classes on these caches. A group that is gone is left out. `asked`: of these the classes that get counters
// where they have none.
Usages read_usage(const Monitoring& monitoring, const std::map<ClosId, std::set<CacheId>>& classes,
                  const std::set<ClosId>& asked);

// Of a group that was just made.
Result<void> free_counters(const Monitoring& monitoring, ClosId clos);

}  // namespace nrd::rdt
