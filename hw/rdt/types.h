// Plain structs of the RDT module: the node's caches, its classes of service, and a setting of them.
//
// A class of service (CLOS) is one resctrl group: ClosId 0 is the root group, ClosId n the directory COSn. A class has
// one way mask per cache id; a CPU belongs to exactly one class. The caches are those of each level that the kernel
// allocates: 3, 2, or both. Where code and data have separate masks (CDP), a class's ways are both together, except in
// Split.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/find_in.h"
#include "base/ids.h"
#include "base/shared.h"
#include "base/task.h"
#include "base/way_mask.h"

namespace nrd::rdt {

// Allocation of the caches of one level as the kernel offers it (info/L3, info/L2). The same numbers hold for every
// cache id.
struct Cat {
  unsigned classes = 0;   // num_closids, the minimum of all resources: the most groups there can be, including the root
  unsigned ways = 0;      // width of a mask
  unsigned min_ways = 1;  // min_cbm_bits, at least 1: AMD's kernels report 0, but a class of nrd always has a way
  WayMask shareable;      // shareable_bits: ways that I/O (DDIO) also fills
  bool cdp = false;       // mounted with masks for code and data; `classes` are half as many as without
  bool sparse_masks = false;  // a mask may have holes (Linux 6.7, on AMD and newer Intel CPUs)
  friend bool operator==(const Cat&, const Cat&) = default;
};

using Cats = std::map<unsigned, Cat, std::greater<>>;  // of each level that is allocated, L3 first

// A cache as the kernel describes it (Documentation/ABI/testing/sysfs-devices-system-cpu); 0: not reported.
struct Geometry {
  uint32_t ways = 0;  // ways_of_associativity; the masks of Cat may be narrower
  uint32_t sets = 0;
  uint32_t partitions = 0;  // physical_line_partition: lines that share a tag
  uint32_t line_bytes = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// The unit of the MB lines.
enum class MbaUnit {
  Percent,
  Mbps,           // on Intel, mounted with mba_MBps
  EighthsOfGbps,  // on AMD
};

// Memory bandwidth allocation as the kernel offers it (info/MB), in its own units.
struct MbaInfo {
  unsigned step = 0;   // bandwidth_gran
  unsigned least = 0;  // min_bandwidth
  MbaUnit unit = MbaUnit::Percent;
  uint32_t most = 100;  // the value of a group that was never limited
  // thread_throttle_mode: "max", all threads of a core get the smallest limit among them; "per-thread"; empty: not
  // reported.
  std::string throttle_mode{};
  friend bool operator==(const MbaInfo&, const MbaInfo&) = default;
};

// The features of the CPU (flags of /proc/cpuinfo), and the options that resctrl was mounted with.
struct Capabilities {
  bool rdt = false;         // rdt_a
  bool l2_cat = false;      // cat_l2
  bool l3_cat = false;      // cat_l3
  bool l2_cdp = false;      // cdp_l2
  bool l3_cdp = false;      // cdp_l3
  bool monitoring = false;  // cqm
  bool mba = false;         // mba
  bool is_amd = false;      // vendor_id
  bool is_mounted = false;  // resctrl
  bool is_mounted_with_cdp = false;
  std::optional<MbaInfo> mba_info;  // absent: not mounted, or without MB
  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

// The counters that the kernel offers for each class and cache (info/L3_MON).
struct Monitoring {
  unsigned groups = 0;     // num_rmids: the most groups that can be counted at a time
  bool occupancy = false;  // llc_occupancy
  bool total = false;      // mbm_total_bytes
  bool local = false;      // mbm_local_bytes
  // The number of bandwidth counters of each L3 cache, assigned to groups: an event of a group is counted only with one
  // (mbm_assign_mode mbm_event, Linux 6.18). nullopt: every group has its own.
  std::optional<unsigned> assigned_counters{};
  friend bool operator==(const Monitoring&, const Monitoring&) = default;
};

// A unit that the kernel counts separately: an L3 cache, and with sub-NUMA clusters also each NUMA node of its CPUs.
struct MonitoringDomain {
  CacheId cache;
  std::optional<uint32_t> numa_node{};  // nullopt: the whole cache
  friend auto operator<=>(const MonitoringDomain&, const MonitoringDomain&) = default;
};

// Counters of one class in one domain; nullopt: not available, which is different from 0.
struct Usage {
  std::optional<uint64_t> occupancy_bytes;  // in the cache now
  std::optional<uint64_t> total_bytes;      // to and from memory, since counting began
  std::optional<uint64_t> local_bytes;      // of these, from the memory of the same socket
  std::string not_counted{};                // why an event has no counter, as text; empty: each has one
  bool is_unrequested = false;              // no counter because monitoring was not requested
  friend bool operator==(const Usage&, const Usage&) = default;
};
using Usages = std::map<ClosId, std::map<MonitoringDomain, Usage>>;

// The code that writes masks. libpqos is used where it sees the same caches and classes as resctrl.
struct MaskWriterChoice {
  bool is_libpqos = false;
  std::string reason;  // one clause for messages: "libpqos sees caches 0-1 where resctrl has 0-3"
  friend bool operator==(const MaskWriterChoice&, const MaskWriterChoice&) = default;
};

inline CpuSet cpus_of(const std::map<CacheId, CpuSet>& caches) {
  CpuSet all;
  for (const auto& [id, cpus] : caches) all |= cpus;
  return all;
}

// The caches of one level.
struct CacheLevel {
  SharedMap<CacheId, CpuSet> caches{};  // online CPUs of each
  std::optional<Cat> cat{};             // absent: their ways cannot be set here
  friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

// The result of discover(). CPUs and caches are known on a node without RDT as well.
struct Node {
  // Empty if there is none.
  const CacheLevel& level_of(unsigned number) const {
    static const CacheLevel kNone;
    const CacheLevel* found = find_in(levels, number);
    return found ? *found : kNone;
  }
  const CacheLevel& main() const { return level_of(main_level); }
  bool is_main(CacheId cache) const { return cache.level == main_level; }
  const std::optional<Cat>& cat_of(CacheId cache) const { return level_of(cache.level).cat; }
  // True if the cache exists and its level is allocated.
  bool has(CacheId cache) const {
    const CacheLevel& level = level_of(cache.level);
    return level.caches.contains(cache) && (is_main(cache) || level.cat);
  }
  const CpuSet& cpus_of(CacheId cache) const { return level_of(cache.level).caches.at(cache); }  // requires has()

  CpuSet possible;          // all CPU numbers possible in this boot
  CpuSet online;            // those that run now
  unsigned main_level = 3;  // of the caches that `cache` of a request means; 2 where only L2 is allocated
  std::map<unsigned, CacheLevel, std::greater<>> levels;  // main_level, and 2 beside 3
  SharedMap<CacheId, int> sockets;                        // physical_package_id of each cache, for display
  SharedMap<CacheId, std::set<uint32_t>> numa_nodes;      // of its CPUs; absent: the kernel reports no NUMA nodes
  SharedMap<CacheId, Geometry> geometry;                  // of each cache
  std::map<CacheId, WayMask> io_ways{};                   // filled by devices with a class of their own (io_alloc)
  CpuSet isolated;                                        // from the scheduler (isolcpus=)
  std::vector<CpuSet> throttled_together{};  // online threads of a core, where a limit of one slows all (MbaInfo)
  Capabilities capabilities;
  std::optional<Monitoring> monitoring{};    // absent: no monitoring on this node
  std::optional<MaskWriterChoice> writer{};  // absent where main().cat is
  std::vector<std::string>
      missing;  // reasons, one sentence each: "L3 CAT: the CPU has none (no cat_l3 in /proc/cpuinfo)"
  friend bool operator==(const Node&, const Node&) = default;
};

// A limit of memory bandwidth with its unit.
struct Bandwidth {
  MbaUnit unit = MbaUnit::Percent;
  uint32_t value = 0;
  friend auto operator<=>(const Bandwidth&, const Bandwidth&) = default;
};

// The ways of a class on one cache, separate for code and data (CDP).
struct Split {
  WayMask code;
  WayMask data;
  friend bool operator==(const Split&, const Split&) = default;
};

// The file `mode` of a group (Documentation/arch/x86/resctrl.rst).
enum class GroupMode {
  Shareable,
  Exclusive,        // no other group may use its ways
  PseudoLockSetup,  // a region is being set up; it has no masks
  PseudoLocked,     // its ways hold locked data; it has released its class
};

struct Class {
  bool has_tasks() const { return tasks > 0; }

  std::map<CacheId, WayMask> ways;          // with CDP those of code and of data together
  CpuSet cpus;                              // online CPUs only: the kernel drops offline ones
  size_t tasks = 0;                         // threads bound to the group; those of the root group are not counted
  std::map<CacheId, uint32_t> bandwidth{};  // in the unit of the mount; empty without MB
  std::map<CacheId, Split> split{};         // where the masks of code and of data differ
  GroupMode mode = GroupMode::Shareable;
  bool has_monitoring_groups = false;  // below mon_groups
  bool is_readable = true;             // false: a file of the group cannot be read, so what it holds is unknown
  friend bool operator==(const Class&, const Class&) = default;
};

// The complete state as read from the kernel.
struct Observed {
  // Nullopt: the CPU is in a foreign group.
  std::optional<ClosId> class_of(CpuId cpu) const {
    for (const auto& [clos, group] : classes) {
      if (group.cpus.contains(cpu)) return clos;
    }
    return std::nullopt;
  }
  std::optional<WayMask> ways_of(ClosId clos, CacheId cache) const {
    const Class* group = find_in(classes, clos);
    const WayMask* ways = group ? find_in(group->ways, cache) : nullptr;
    return ways ? std::optional(*ways) : std::nullopt;
  }
  std::optional<Split> split_of(ClosId clos, CacheId cache) const {
    const Class* group = find_in(classes, clos);
    const Split* masks = group ? find_in(group->split, cache) : nullptr;
    return masks ? std::optional(*masks) : std::nullopt;
  }

  std::map<ClosId, Class> classes;
  // Foreign groups, under other names; nrd leaves them untouched and counts their ways and CPUs as taken.
  std::map<std::string, Class> foreign;
  // For the requested tasks: the directories of the groups of their threads, "" for the root's. Empty: the task has
  // exited.
  std::map<Task, std::set<std::string>> tasks;
  friend bool operator==(const Observed&, const Observed&) = default;
};

// Wanted values of some settings. Settings not named here stay untouched. A class named in `ways` or `cpus` must exist
// or be in `made`.
struct Setting {
  std::optional<Split> split_of(ClosId clos, CacheId cache) const {
    const std::map<CacheId, Split>* caches = find_in(split, clos);
    const Split* masks = caches ? find_in(*caches, cache) : nullptr;
    return masks ? std::optional(*masks) : std::nullopt;
  }

  std::map<ClosId, std::map<CacheId, WayMask>> ways;
  std::map<ClosId, std::map<CacheId, Split>> split{};  // of `ways`; where absent, code and data share the ways
  std::map<CpuId, ClosId> cpus;
  std::map<ClosId, std::map<CacheId, Bandwidth>> bandwidth{};
  // Skips exited tasks. Class 0: remove from classes of nrd; a task in a foreign group stays there.
  std::map<Task, ClosId> tasks;
  std::set<ClosId> without_tasks;  // the tasks of these move to the root group
  std::set<ClosId> made{};         // groups that must exist
  std::set<ClosId> removed{};      // groups that must not exist; their CPUs and tasks move to the root group
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::rdt
