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
// A file may say "Unavailable" (no value at this moment) or "Error" (the hardware has none) instead of a number. Only
// the engine thread may call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "hw/rdt/types.h"

namespace nrd::rdt {

// The files num_rmids and mon_features of info/L3_MON, nullopt where there is none. Without one of them, or with no
// feature that is known, nothing is counted.
std::optional<Monitoring> parse_monitoring(const std::optional<std::string>& num_rmids,
                                           const std::optional<std::string>& mon_features);
// The same of this host; nullopt also while resctrl is not mounted.
std::optional<Monitoring> read_monitoring();

// One file of mon_data; nullopt: it says no number.
std::optional<uint64_t> parse_count(std::string_view text);

// Of these classes on these caches. A group that is gone is left out.
Usages read_usage(const Monitoring& monitoring, const std::map<ClosId, std::set<CacheId>>& classes);

}  // namespace nrd::rdt
