// What this room knows and wants, in plain structs: the node's caches, its classes of service, and a setting of them.
//
// A class of service (CLOS) is one resctrl group: ClosId 0 is the root group, ClosId n the directory COSn. A class has
// one way mask per cache id; a CPU belongs to exactly one class. The caches are those of level 3, or of level 2 on
// small parts that allocate no other; where both are allocated, the L2 caches stand beside (CacheId::is_l2_beside).
// Where code and data have masks of their own (CDP), both are the class's ways, but where they are split.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/shared_map.h"
#include "base/task.h"
#include "base/way_mask.h"

namespace nrd::rdt {

// Allocation of the caches of one level as the kernel offers it (info/L3, info/L2). The same numbers hold for every
// cache id.
struct Cat {
  unsigned classes = 0;   // num_closids, the least of all resources: so many groups there can be, the root's included
  unsigned ways = 0;      // width of a mask
  unsigned min_ways = 1;  // min_cbm_bits, at least 1: AMD's kernels say 0, but a class of ours is never without ways
  WayMask shareable;      // shareable_bits: ways that I/O (DDIO) also fills
  bool cdp = false;       // mounted with masks for code and data; `classes` are half as many as without
  bool sparse_masks = false;  // a mask may have holes (Linux 6.7, on AMD and on Intel's newer parts)
  friend bool operator==(const Cat&, const Cat&) = default;
};

// A cache as the kernel describes it (Documentation/ABI/testing/sysfs-devices-system-cpu); 0: it does not tell.
struct Geometry {
  uint32_t ways = 0;  // ways_of_associativity; the masks of Cat may be narrower
  uint32_t sets = 0;
  uint32_t partitions = 0;  // physical_line_partition: lines that share a tag
  uint32_t line_bytes = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// What the numbers of the MB lines mean.
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
  uint32_t most = 100;  // what a group has to which nothing was written
  // thread_throttle_mode: "max", all threads of a core get the smallest limit among them; "per-thread"; empty: the
  // kernel does not tell.
  std::string throttle_mode{};
  friend bool operator==(const MbaInfo&, const MbaInfo&) = default;
};

// What the part has (flags of /proc/cpuinfo), and what resctrl was mounted with.
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

// What the kernel counts for each class and cache (info/L3_MON).
struct Monitoring {
  unsigned groups = 0;     // num_rmids: so many groups can be counted at a time
  bool occupancy = false;  // llc_occupancy
  bool total = false;      // mbm_total_bytes
  bool local = false;      // mbm_local_bytes
  // So many bandwidth counters each L3 cache has, to be assigned to groups: an event of a group is counted only with
  // one (mbm_assign_mode mbm_event, Linux 6.18). nullopt: every group has its own.
  std::optional<unsigned> assigned_counters{};
  friend bool operator==(const Monitoring&, const Monitoring&) = default;
};

// What the kernel counts apart: an L3 cache, and with sub-NUMA clusters also each NUMA node of its CPUs.
struct MonitoringDomain {
  CacheId cache;
  std::optional<uint32_t> numa_node{};  // nullopt: the whole cache
  friend auto operator<=>(const MonitoringDomain&, const MonitoringDomain&) = default;
};

// Of one class in one domain, as the kernel told it; nullopt: it does not tell, which is not nothing.
struct Usage {
  std::optional<uint64_t> occupancy_bytes;  // in the cache now
  std::optional<uint64_t> total_bytes;      // to and from memory, since it has been counted
  std::optional<uint64_t> local_bytes;      // of these, from the memory of the same socket
  std::string not_counted{};                // why an event has no counter, for people; empty: each has one
  bool is_unasked = false;                  // it has none because monitoring was not requested
  friend bool operator==(const Usage&, const Usage&) = default;
};
using Usages = std::map<ClosId, std::map<MonitoringDomain, Usage>>;

// Which code writes masks. libpqos is used where it sees the same caches and classes as resctrl does.
struct MaskWriterChoice {
  bool is_libpqos = false;
  std::string reason;  // one clause, for people: "libpqos sees caches 0-1 where resctrl has 0-3"
  friend bool operator==(const MaskWriterChoice&, const MaskWriterChoice&) = default;
};

inline CpuSet cpus_of(const std::map<CacheId, CpuSet>& caches) {
  CpuSet all;
  for (const auto& [id, cpus] : caches) all |= cpus;
  return all;
}

// What discover() finds. CPUs and caches are known on a node without RDT as well.
struct Node {
  // Of the level of `cache`.
  const std::optional<Cat>& cat_of(CacheId cache) const { return cache.is_l2_beside ? l2_cat : cat; }
  // It is there, and one of those that are allocated.
  bool has(CacheId cache) const { return cache.is_l2_beside ? l2_cat && l2.contains(cache) : caches.contains(cache); }
  const CpuSet& cpus_of(CacheId cache) const { return (cache.is_l2_beside ? l2 : caches).at(cache); }  // if it has it

  CpuSet possible;                                    // all CPU numbers this boot may ever see
  CpuSet online;                                      // those that run now
  unsigned level = 3;                                 // of `caches`
  SharedMap<CacheId, CpuSet> caches;                  // online CPUs of each cache
  SharedMap<CacheId, int> sockets;                    // physical_package_id of each cache, for people
  SharedMap<CacheId, std::set<uint32_t>> numa_nodes;  // of its CPUs; not there: the kernel knows no NUMA nodes
  SharedMap<CacheId, Geometry> geometry;              // of each cache
  SharedMap<CacheId, CpuSet> l2;                      // likewise of each L2 cache, where `caches` are of L3
  std::map<CacheId, WayMask> io_ways{};      // that devices fill with a class of their own (io_alloc), of `caches`
  CpuSet isolated;                           // from the scheduler (isolcpus=)
  std::vector<CpuSet> throttled_together{};  // threads of a core, online, where a limit of one slows all (MbaInfo)
  Capabilities capabilities;
  std::optional<Cat> cat;                    // of `caches`; absent: their ways cannot be set here
  std::optional<Cat> l2_cat{};               // of `l2`, likewise
  std::optional<Monitoring> monitoring{};    // absent: nothing is counted here
  std::optional<MaskWriterChoice> writer{};  // absent where `cat` is
  std::vector<std::string> missing;  // why, one sentence each: "L3 CAT: the CPU has none (no cat_l3 in /proc/cpuinfo)"
  friend bool operator==(const Node&, const Node&) = default;
};

// A limit of memory bandwidth, and in what.
struct Bandwidth {
  MbaUnit unit = MbaUnit::Percent;
  uint32_t value = 0;
  friend auto operator<=>(const Bandwidth&, const Bandwidth&) = default;
};

// The ways of a class on one cache, code's and data's apart (CDP).
struct Split {
  WayMask code;
  WayMask data;
  friend bool operator==(const Split&, const Split&) = default;
};

// The file `mode` of a group (Documentation/arch/x86/resctrl.rst).
enum class GroupMode {
  Shareable,
  Exclusive,        // no other group may have its ways
  PseudoLockSetup,  // a region is being set up; it has no masks
  PseudoLocked,     // its ways hold locked data; it has given its class back
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

// All of it as read from the kernel.
struct Observed {
  std::optional<Split> split_of(ClosId clos, CacheId cache) const {
    const auto group = classes.find(clos);
    if (group == classes.end() || !group->second.split.contains(cache)) return std::nullopt;
    return group->second.split.at(cache);
  }

  std::map<ClosId, Class> classes;
  // Groups made by others under other names; not ours to touch, but their ways and CPUs are taken.
  std::map<std::string, Class> foreign;
  // Of the tasks that were asked about: the directories of the groups that their threads are in, "" for the root's.
  // Empty: it has ended.
  std::map<Task, std::set<std::string>> tasks;
  friend bool operator==(const Observed&, const Observed&) = default;
};

// What some knobs must say. A knob that is not named is left alone. A class that is named in `ways` or `cpus` must
// exist or stand in `made`.
struct Setting {
  std::optional<Split> split_of(ClosId clos, CacheId cache) const {
    const auto caches = split.find(clos);
    if (caches == split.end() || !caches->second.contains(cache)) return std::nullopt;
    return caches->second.at(cache);
  }

  std::map<ClosId, std::map<CacheId, WayMask>> ways;
  std::map<ClosId, std::map<CacheId, Split>> split{};  // of `ways`; those that are not in here, code and data share
  std::map<CpuId, ClosId> cpus;
  std::map<ClosId, std::map<CacheId, Bandwidth>> bandwidth{};
  // Those that have ended are passed over. Class 0: in no other class; where a foreign group has it, it stays.
  std::map<Task, ClosId> tasks;
  std::set<ClosId> without_tasks;  // the tasks of these go to the root group
  std::set<ClosId> made{};         // groups that must exist
  std::set<ClosId> removed{};      // groups that must not; their CPUs and tasks go to the root group
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::rdt
