// Monitoring data of resctrl: cache occupancy and memory traffic of a class.
//
// Read from mon_data of the class's group and not through libpqos: pqos_mon_start_cores() creates a group below
// mon_groups and moves the CPUs into it, away from a group where other software may be counting them. mon_data of a
// class needs no such group, writes nothing, and covers CPUs and tasks alike; it includes the counts of groups below
// mon_groups (Documentation/filesystems/resctrl).
//
//   /sys/fs/resctrl/COS2/mon_data/mon_L3_00/llc_occupancy      bytes in the cache with id 0
//                                           mbm_total_bytes    a counter that only grows
//                                           mbm_local_bytes
//
// With sub-NUMA clusters mon_L3_00 has a directory mon_sub_L3_01 for each NUMA node, and is itself their sum.
//
// A file may contain "Unavailable" (no value at this moment) or "Error" (no hardware support) instead of a number.
//
// Where bandwidth counters are assigned to groups (Monitoring::assigned_counters) the kernel gives each new group one
// for each event and domain, while it has some. nrd frees those of its classes, and assigns one only when a workload is
// monitored: other groups and workloads need them too. They stay assigned until the group is removed, because a
// reassigned counter starts at 0.
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

// The files num_rmids and mon_features of info/L3_MON, nullopt where there is none. Without either file or without a
// known feature nothing is counted.
std::optional<Monitoring> parse_monitoring(const std::optional<std::string>& num_rmids,
                                           const std::optional<std::string>& mon_features);
// Monitoring::assigned_counters from mbm_assign_mode ("[mbm_event]\ndefault") and num_mbm_cntrs ("0=32;1=32").
std::optional<unsigned> parse_assigned_counters(const std::optional<std::string>& mode,
                                                const std::optional<std::string>& counters);
// The monitoring of this host; nullopt also while resctrl is not mounted.
std::optional<Monitoring> read_monitoring();

// One file of mon_data; nullopt: it contains no number.
std::optional<uint64_t> parse_count(std::string_view text);

// The counters of a group, by event and domain, from "mbm_total_bytes:0=e;1=_": {mbm_total_bytes: {0}}. nullopt:
// unknown format.
using Assignments = std::map<std::string, std::set<uint32_t>, std::less<>>;
std::optional<Assignments> parse_assignments(std::string_view text);

// Usage of these classes on these caches. A group that does not exist is left out. `asked`: the classes to which
// missing counters are assigned.
Usages read_usage(const Monitoring& monitoring, const std::map<ClosId, std::set<CacheId>>& classes,
                  const std::set<ClosId>& asked);

// Frees the counters of a group that was just created.
Result<void> free_counters(const Monitoring& monitoring, ClosId clos);

}  // namespace nrd::rdt
