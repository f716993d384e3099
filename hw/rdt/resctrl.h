// The files of the kernel's resctrl tree (Documentation/filesystems/resctrl). Masks written by libpqos are read back
// here, so that nrd reports the kernel's state.
//
// parse_...() take a file's text and are pure. The kernel ends every line, so a text without a final line end was
// truncated and is refused: half of "0-15" would be a different list of CPUs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

inline constexpr const char* kResctrl = "/sys/fs/resctrl";

// The cache lines of a schemata file: "    L3:0=7ff;1=7ff" -> {0: 7ff, 1: 7ff}, and likewise L2, together with L3 or
// alone. With CDP a level has two lines, L3CODE and L3DATA. Ignores MB.
struct Masks {
  std::map<CacheId, WayMask> ways;  // of code and of data together
  std::map<CacheId, Split> split;   // where they differ
};
Result<Masks> parse_masks(std::string_view schemata);

// An unlimited group in MB/s has 4294967295, which cannot be written again: kernels before 6.10 round up to a multiple
// of ten, and 32 bits turn that into 4 (bw_validate()). This value is equivalent.
inline constexpr uint32_t kUnlimitedMbps = 4294967290;

// The MB line in decimal, with at most kUnlimitedMbps; empty if there is none: "    MB:0=100;1= 90" -> {0: 100, 1: 90}.
Result<std::map<CacheId, uint32_t>> parse_mb(std::string_view schemata);

// A cpus_list: "0-3,8", or an empty line for a group without CPUs.
Result<CpuSet> parse_cpus(std::string_view cpus_list);

// A tasks file: one number per line, none for a group without tasks.
Result<std::vector<pid_t>> parse_tasks(std::string_view tasks);

// The files cbm_mask, min_cbm_bits and shareable_bits of `folder` in info (L3, L3CODE, L2, …), nullopt where there is
// none. Kernels before 4.15 have no shareable_bits; the others are required for CAT. `classes` is left at 0.
Result<std::optional<Cat>> parse_cat_info(const std::string& folder, const std::optional<std::string>& cbm_mask,
                                          const std::optional<std::string>& min_cbm_bits,
                                          const std::optional<std::string>& shareable_bits);

// True if the tree is mounted.
bool is_mounted();

// A file below info, "MB/bandwidth_gran".
std::string info_path(const std::string& file);
bool has_info(const std::string& file);
// One number and a line end, of a file below info. nullopt: there is no such file.
Result<std::optional<uint32_t>> parse_info(const std::string& file, const std::optional<std::string>& text,
                                           int base = 10);

// The level whose caches are allocated: according to the mount, or to the CPU's flags. 3 if neither says.
unsigned read_level(const Capabilities& flags);

// info/L3 or info/L2, or their equivalents for code and data; nullopt where the level is not allocated.
Result<std::optional<Cat>> read_cat_info(unsigned level);
// Why no level is allocated, as a sentence.
std::string why_no_cat();

// The maximum number of groups including the root: the smallest num_closids of all resources, because a group has a
// class of each. Other software may hold some, and the kernel may reserve some.
Result<unsigned> read_classes();

// The ways that devices fill with a class of their own, by L3 cache: io_alloc_cbm, "0=600;1=600". Empty where io_alloc
// is missing or disabled; where it is enabled, the kernel reserves the highest class for it.
Result<std::map<CacheId, WayMask>> parse_io_alloc(const std::optional<std::string>& io_alloc,
                                                  const std::optional<std::string>& io_alloc_cbm);
Result<std::map<CacheId, WayMask>> read_io_ways();

// nullopt: the group does not exist.
Result<std::optional<Masks>> read_masks(const std::string& directory);
Result<std::optional<std::map<CacheId, uint32_t>>> read_limits(const std::string& directory);
Result<std::optional<CpuSet>> read_cpus(const std::string& directory);
Result<std::optional<std::vector<pid_t>>> read_tasks(const std::string& directory);

// Moves CPUs into the group, from any other group, in one write: all or none. Locks the tree for this read and write,
// as Documentation/arch/x86/resctrl.rst requires; waits for half a second at most.
Result<void> add_cpus(const std::string& directory, const CpuSet& cpus);

// Writes to a file of a group: complete lines of schemata or cpus_list. Resources not named stay as they are.
Result<void> write_line(const std::string& directory, const char* file, const std::string& lines);

// Moves one thread into a group. False: there is no thread with this number.
Result<bool> write_task(const std::string& directory, pid_t thread);

// Why the kernel refused the last write (info/last_cmd_status), in a line or more; empty if it gives no reason.
std::string last_cmd_status();
// An error of a write with another message, and the kernel's reason.
Error refused_write(Error error, std::string message);

}  // namespace nrd::rdt
