// Reading the kernel's resctrl tree (Documentation/filesystems/resctrl). Nothing is written here: that is libpqos's part.
// So what is believed is what the kernel says, and groups that libpqos cannot see are seen too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

inline constexpr const char* kResctrl = "/sys/fs/resctrl";

// The L3 line of a schemata file: "    L3:0=7ff;1=7ff" -> {0: 7ff, 1: 7ff}. Other lines (MB, L2) are passed over.
Result<std::map<CacheId, WayMask>> parse_l3(std::string_view schemata);

// info/L3 and what stands beside it; nullopt with a sentence in `missing` if this node has no (usable) L3 CAT.
// `classes` is left at 0: how many groups there really are is known after libpqos made them.
Result<std::optional<L3Cat>> read_l3_info(std::vector<std::string>& missing);

// Names of all groups but the root: "COS1", "COS2", "theirs".
Result<std::vector<std::string>> list_groups();

// The class whose directory has this name; nullopt for names that libpqos does not give.
std::optional<ClosId> class_of(std::string_view group);
// Directory of a class below kResctrl: "" for the root class, "/COS2".
std::string directory_of(ClosId clos);

// nullopt: the group is gone.
Result<std::optional<std::map<CacheId, WayMask>>> read_ways(const std::string& directory);
Result<std::optional<CpuSet>> read_cpus(const std::string& directory);
Result<std::optional<Class>> read_class(const std::string& directory);

// Why the kernel refused the last write, in its own words; empty if it does not say.
std::string last_refusal();

}  // namespace nrd::rdt
