// Reading the kernel's resctrl tree (Documentation/filesystems/resctrl). Values are written by libpqos and read back
// here, so what is believed is what the kernel says, and groups that libpqos cannot see are seen too.
//
// parse_...() take a file's text and are pure. The kernel ends every line, so a text that does not end with a line end
// was cut off and is refused: half of "0-15" would be another list of CPUs.
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

// A cpus_list: "0-3,8", or an empty line for a group without CPUs.
Result<CpuSet> parse_cpus(std::string_view cpus_list);

// The files cbm_mask, min_cbm_bits and shareable_bits of info/L3, nullopt where there is none. Kernels before 4.15 have
// no shareable_bits. Without one of the others this is no L3 CAT. `classes` is left at 0.
Result<std::optional<L3Cat>> parse_l3_info(const std::optional<std::string>& cbm_mask,
                                           const std::optional<std::string>& min_cbm_bits,
                                           const std::optional<std::string>& shareable_bits);

// Somebody has mounted the tree.
bool is_mounted();

// info/L3 and what stands beside it; nullopt with a sentence in `missing` if this node has no (usable) L3 CAT.
// `classes` is left at 0: how many groups there really are is known after libpqos made them.
Result<std::optional<L3Cat>> read_l3_info(std::vector<std::string>& missing);

// Makes the group of a class. True: it is there now. False: no class is left in the kernel, because other groups hold
// them.
Result<bool> make_group(ClosId clos);

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
