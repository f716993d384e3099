// The files of the kernel's resctrl tree (Documentation/filesystems/resctrl). Masks that libpqos wrote are read back
// here, so that nrd reports what the kernel says.
//
// parse_...() take a file's text and are pure. The kernel ends every line, so a text that does not end with a line end
// was cut off and is refused: half of "0-15" would be another list of CPUs.
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

// The cache lines of a schemata file: "    L3:0=7ff;1=7ff" -> {0: 7ff, 1: 7ff}, and of L2 beside it, or alone where
// there is none of L3. With CDP a level has two, L3CODE and L3DATA. MB is passed over.
struct Masks {
  std::map<CacheId, WayMask> ways;  // of code and of data together
  std::map<CacheId, Split> split;   // where these differ
};
Result<Masks> parse_masks(std::string_view schemata);

// In MB/s a group that nobody limited has 4294967295, which no group can be given again: kernels before 6.10 round what
// is written up to a multiple of ten, and 32 bits make 4 of that (bw_validate()). This is as good as that.
inline constexpr uint32_t kUnlimitedMbps = 4294967290;

// The MB line, likewise, in decimal, nothing above kUnlimitedMbps; empty if there is none: "    MB:0=100;1= 90" -> {0:
// 100, 1: 90}.
Result<std::map<CacheId, uint32_t>> parse_mb(std::string_view schemata);

// A cpus_list: "0-3,8", or an empty line for a group without CPUs.
Result<CpuSet> parse_cpus(std::string_view cpus_list);

// A tasks file: one number a line, none for a group without tasks.
Result<std::vector<pid_t>> parse_tasks(std::string_view tasks);

// The files cbm_mask, min_cbm_bits and shareable_bits of info/L3 (L3CODE, L2, …), nullopt where there is none. Kernels
// before 4.15 have no shareable_bits. Without one of the others this is no CAT. `classes` is left at 0.
Result<std::optional<Cat>> parse_cat_info(const std::optional<std::string>& cbm_mask,
                                          const std::optional<std::string>& min_cbm_bits,
                                          const std::optional<std::string>& shareable_bits);

// Somebody has mounted the tree.
bool is_mounted();

// The level whose caches are allocated: that of the mount, or what the part says of itself. 3 where there is neither.
unsigned read_level(const Capabilities& flags);

// info/L3, or what stands in its place; nullopt with a sentence in `missing` if this node has no (usable) CAT.
Result<std::optional<Cat>> read_cat_info(std::vector<std::string>& missing);
// The same of the L2 caches beside those of L3; nullopt where these are not allocated as well.
Result<std::optional<Cat>> read_l2_cat_info();

// How many groups there can be, the root's included: the least num_closids of all resources, because a group has a
// class of each. Others may hold some, and the kernel may keep some for itself.
Result<unsigned> read_classes();

// The ways that devices fill with a class of their own, by L3 cache: io_alloc_cbm, "0=600;1=600". Empty where io_alloc
// is not there or not enabled; where it is, the kernel keeps the highest class for it.
Result<std::map<CacheId, WayMask>> parse_io_alloc(const std::optional<std::string>& io_alloc,
                                                  const std::optional<std::string>& io_alloc_cbm);
Result<std::map<CacheId, WayMask>> read_io_ways();

// nullopt: the group is gone.
Result<std::optional<Masks>> read_masks(const std::string& directory);
Result<std::optional<std::map<CacheId, uint32_t>>> read_limits(const std::string& directory);
Result<std::optional<CpuSet>> read_cpus(const std::string& directory);
Result<std::optional<std::vector<pid_t>>> read_tasks(const std::string& directory);

// CPUs that come to the group, from whichever they are in, in one write: all or none. The tree is locked meanwhile, as
// Documentation/arch/x86/resctrl.rst asks of whoever reads and then writes; who holds that lock is waited for 100 ms.
Result<void> add_cpus(const std::string& directory, const CpuSet& cpus);

// Into a file of a group: lines with their ends, of schemata or cpus_list. What they do not name stays as it is.
Result<void> write_line(const std::string& directory, const char* file, const std::string& lines);

// Moves one thread into a group. False: the kernel knows no thread of this number.
Result<bool> write_task(const std::string& directory, pid_t thread);

// Why the kernel refused the last write, in its own words; empty if it does not say.
std::string last_refusal();

}  // namespace nrd::rdt
