// Plain structs of the module that limits processes to CPUs: what the CPUs share (zones), what can be limited
// (targets), how long CPUs may take to wake up, and a setting of all that.
//
// A target is limited by the CPU affinity of its threads (a task) or by the cpuset of its cgroup (all others). Success
// of a write means little: the kernel and systemd accept settings without effect. What counts is what was read back.
#pragma once

#include <sys/types.h>

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/shared.h"
#include "base/task.h"

namespace nrd::cpuset {

// From the coarsest to the finest. A level that a machine lacks has no zones.
enum class Level { Machine, Package, Die, Node, L3, L2, Core };

// CPUs that share something. `id` is the kernel's number of it where it has one (package, NUMA node, cache).
struct Zone {
  Level level = Level::Machine;
  uint32_t id = 0;
  CpuSet cpus;  // online ones
  friend bool operator==(const Zone&, const Zone&) = default;
};

using Zones = Shared<std::vector<Zone>>;

// NUMA nodes with memory, which the kernel writes as it writes CPUs.
using MemoryNodes = CpuSet;

// What can be limited to CPUs.
struct Target {
  enum class Kind {
    Task,       // a process with all its threads, or one thread
    Scope,      // a process with all that it starts, in a scope of systemd below nrd.slice
    Unit,       // what a service or scope of systemd runs, now and later
    Cgroup,     // what is in a cgroup that systemd does not manage, and below
    Slice,      // the rest of the host: "system.slice", "init.scope"
    Partition,  // nrd.slice with all that is in it; nothing outside it gets its CPUs
  };
  Kind kind = Kind::Task;
  std::string name{};  // of a cgroup: its path, "/x/y"; of all others but tasks: the unit of systemd, "nrd-7.scope"
  Task task{};         // of a task; of a scope: the process that moves into it
  friend auto operator<=>(const Target&, const Target&) = default;
};

// True if it keeps the rest of the host off CPUs.
inline bool confines(const Target& target) {
  return target.kind == Target::Kind::Slice || target.kind == Target::Kind::Partition;
}

// True if it is the name of a service or scope of systemd: "feed.service".
bool is_unit_name(std::string_view name);
// True if it can be the path of a cgroup other than the root: "/x/y", without "." and "..".
bool is_cgroup_path(std::string_view path);
// True if `path` is that of `cgroup`, which is not the root, or of one below it.
inline bool is_within(std::string_view path, std::string_view cgroup) {
  return path.starts_with(cgroup) && (path.size() == cgroup.size() || path[cgroup.size()] == '/');
}

// A thread that may not run everywhere.
struct Pinned {
  Task thread{};  // without boot_id
  CpuSet cpus{};
  friend bool operator==(const Pinned&, const Pinned&) = default;
};

// Where the threads of a target may run. Within a cpuset its processes may choose further: only tasks have exceptions.
struct Masks {
  CpuSet cpus;                           // of a task's main thread; of all others: cpuset.cpus.effective
  std::map<pid_t, CpuSet> exceptions{};  // threads that may run elsewhere
  CpuSet own{};                          // AllowedCPUs= of a unit, cpuset.cpus of a cgroup; empty: none
  // Of a partition, as cpuset.cpus.partition tells: "root", "member", "root invalid (Cpu list in cpuset.cpus not
  // exclusive)".
  std::string partition{};
  // Of what confines the rest of the host, where the kernel overwrites masks, and if asked for: threads that will lose
  // theirs.
  std::vector<Pinned> pinned{};
  // cpuset.cpus of cgroups with processes below that of the target, by path.
  std::map<std::string, CpuSet> inner{};
  bool is_exactly(const CpuSet& wanted) const { return exceptions.empty() && cpus == wanted; }
  friend bool operator==(const Masks&, const Masks&) = default;
};

// The cgroup below a target that would run on a part of `cpus` only, without having chosen that: its own list has some
// of them and others. nullptr: there is none.
const std::pair<const std::string, CpuSet>* overlapping_part(const std::map<std::string, CpuSet>& inner,
                                                             const CpuSet& cpus);

// Leaves out what is known, by name, of others than `targets`.
template <typename Known>
void keep_only(std::map<std::string, Known>& known, const std::set<Target>& targets) {
  std::set<std::string_view> names;
  for (const Target& target : targets) names.insert(target.name);
  std::erase_if(known, [&names](const auto& each) { return !names.contains(each.first); });
}

// Of a target that is limited to `cpus`.
inline Masks limited_to(const Target& target, const CpuSet& cpus) {
  return {.cpus = cpus, .partition = target.kind == Target::Kind::Partition ? "root" : ""};
}

// More of a unit or cgroup; of a task, where it is.
struct Group {
  CpuSet available{};          // CPUs that its parent has, or will have when a unit that is stopped runs
  std::string parent{};        // the slice of a unit, the cgroup above a cgroup, the cgroup of a task
  std::set<Task> processes{};  // without boot_id; at most kMostProcesses
  std::string managed_by{};    // of a cgroup: the unit of systemd whose it is
  std::string unit{};          // of a unit: its own name, where it was asked for by another one
  std::string cgroup{};        // its own; empty: a unit that does not run
  uint64_t usage_us = 0;       // CPU time that its processes have used since it was made
  bool has_controller = true;  // of a cgroup: it has the files of the cpuset controller
  bool has_shares = true;      // of a cgroup: it has those of the cpu controller
  friend bool operator==(const Group&, const Group&) = default;
};
inline constexpr size_t kMostProcesses = 4096;

// The cores of a hybrid CPU by the kernel's name of their kind: "core", "atom", "lowpower". Empty: they are all alike.
using CoreKinds = std::map<std::string, CpuSet>;

// Huge pages of one size in the memory of a NUMA node.
struct HugePages {
  uint32_t node = 0;
  uint64_t bytes = 0;
  friend auto operator<=>(const HugePages&, const HugePages&) = default;
};
using FreeHugePages = std::map<HugePages, uint64_t>;

// The longest time that a CPU may take to leave an idle state, as the kernel writes it: "0" any, "n/a" none, so that it
// enters no idle state, otherwise microseconds.
using LatencyLimit = std::string;

// What the kernel runs on CPUs and can be kept off some.
struct NoiseSource {
  enum class Kind { Interrupt, NewInterrupts, Workqueues, Watchdog };
  Kind kind = Kind::Interrupt;
  uint32_t number = 0;  // of an interrupt
  friend auto operator<=>(const NoiseSource&, const NoiseSource&) = default;
};

// For messages: "interrupt 34".
inline std::string text_of(const NoiseSource& source) {
  switch (source.kind) {
    case NoiseSource::Kind::Interrupt: return "interrupt " + std::to_string(source.number);
    case NoiseSource::Kind::NewInterrupts: return "new interrupts";
    case NoiseSource::Kind::Workqueues: return "unbound workqueues";
    case NoiseSource::Kind::Watchdog: return "the watchdog";
  }
  return {};
}

// The result of discover().
struct Node {
  Zones zones{};             // by level, then by first CPU
  std::string no_scopes{};   // why scopes and units cannot be limited; empty: they can
  std::string no_cgroups{};  // why cgroups cannot be limited; empty: they can
  std::string no_slices{};   // why the rest of the host cannot be kept off CPUs; empty: it can
  // A cpuset overwrites the CPU affinity of its tasks, that of isolcpus= included (Linux before 6.2).
  bool overwrites_affinity = false;
  CoreKinds core_kinds{};
  CpuSet nohz_full{};  // without the periodic tick (nohz_full=)
  FreeHugePages free_huge_pages{};
  MemoryNodes memory_nodes{};
  std::string no_latency_limits{};  // why the idle states of CPUs cannot be limited; empty: they can
  friend bool operator==(const Node&, const Node&) = default;
};

inline constexpr uint64_t kMicroseconds = 1'000'000;  // per second

// CPU time of a scope, unit or cgroup where it competes with others.
struct Share {
  uint32_t weight = 0;           // cpu.weight, 1 to 10000; 0: systemd sets none, so that 100 applies
  uint64_t quota_us = 0;         // of CPU time in each period (cpu.max); 0: unlimited
  uint64_t period_us = 100'000;  // the kernel's default
  friend bool operator==(const Share&, const Share&) = default;
};

// Where the memory of a scope, unit or cgroup comes from.
struct Memory {
  MemoryNodes nodes{};   // from which it gets memory when it needs some
  MemoryNodes own{};     // AllowedMemoryNodes= of a unit, cpuset.mems of a cgroup; empty: none
  bool is_used = false;  // it has processes, so memory
  uint64_t bytes = 0;    // how much; 0: not known
  friend bool operator==(const Memory&, const Memory&) = default;
};

// A change of the memory nodes of a target with processes, whose pages the kernel moves inside the write.
struct MemoryChange {
  enum class Kind { Move, Release };
  Target target{};
  MemoryNodes nodes{};  // of a release: what it had itself; empty: nothing
  Kind kind = Kind::Move;
  friend bool operator==(const MemoryChange&, const MemoryChange&) = default;
};

// What to observe.
struct Query {
  std::set<Target> targets{};
  std::set<Target> shares{};  // whose CPU time
  std::set<Target> memory{};  // whose memory
  CpuSet latency{};           // CPUs whose limit
  bool pinned = false;        // with the threads that pinned themselves
  friend bool operator==(const Query&, const Query&) = default;
};

// Of the requested targets and CPUs. One that does not exist (any more) is left out.
struct Observed {
  std::map<Target, Masks> targets{};
  std::map<Target, Group> groups{};  // of units, cgroups and tasks
  std::map<Target, Share> shares{};
  std::map<Target, Memory> memory{};
  std::map<CpuId, LatencyLimit> latency{};
  std::map<NoiseSource, CpuSet> noise{};  // where each runs; only those that can be moved
  friend bool operator==(const Observed&, const Observed&) = default;
};

// What conflicts are searched for.
struct PoolUse {
  struct Holder {
    CpuSet cpus{};  // its exclusive ones
    std::set<Target> targets{};
    friend bool operator==(const Holder&, const Holder&) = default;
  };
  CpuSet pooled{};                          // CPUs of all pools
  CpuSet exclusive{};                       // those of exclusive pools
  bool is_confined = false;                 // the rest of the host is kept off `pooled`
  CpuSet unbalanced{};                      // spared by irqbalance by default: isolcpus=, nohz_full=
  std::map<std::string, Holder> holders{};  // workloads with CPUs of pools, by id
  friend bool operator==(const PoolUse&, const PoolUse&) = default;
};

// Other software that also decides about CPUs of pools.
struct Conflict {
  enum class Source { Kubelet, Tuned, Irqbalance, Partition, Cgroup, Unit };
  Source source = Source::Cgroup;
  std::string name{};    // "irqbalance", "/machine.slice", "feed.service"; printable ASCII
  CpuSet cpus{};         // of pools
  std::string text{};    // what it does, and where that is configured
  std::string remedy{};  // what to do
  friend bool operator==(const Conflict&, const Conflict&) = default;
};

// The CPUs of a pool, for a search of what disturbs them.
struct CheckQuery {
  CpuSet cpus{};                         // online ones
  bool low_noise = false;                // what the kernel lets nrd move is elsewhere
  std::optional<uint32_t> latency_us{};  // limit of granted CPUs
  PoolUse use{};                         // of this pool
  friend bool operator==(const CheckQuery&, const CheckQuery&) = default;
};

// What may delay tasks on CPUs of a pool.
struct Disturbance {
  enum class Source {
    Interrupt,
    NewInterrupts,
    Workqueues,
    Watchdog,
    BoundThreads,    // kernel threads that run on one CPU only
    UnboundThreads,  // other kernel threads
    Tick,
    Sibling,
    IdleStates,
    Governor,
    RealTimeLimit,
    HugePages,
    Kubelet,
    Tuned,
    Irqbalance,
  };
  Source source = Source::Interrupt;
  std::string name{};    // of a device, governor or idle state; empty: there is only one
  CpuSet cpus{};         // of the pool
  std::string text{};    // what it does
  std::string remedy{};  // what to do
  friend bool operator==(const Disturbance&, const Disturbance&) = default;
};

// Targets and CPUs not named here stay untouched.
struct Setting {
  std::map<Target, CpuSet> limited{};  // run on exactly these
  std::map<Target, Masks>
      restored{};  // are not limited any more, and get these masks back; threads that are not named `cpus`
  std::map<Target, Share> shares{};
  std::map<Target, MemoryNodes> memory{};
  std::map<Target, MemoryNodes> restored_memory{};  // what they had themselves; empty: nothing
  std::map<CpuId, LatencyLimit> latency{};
  std::map<NoiseSource, CpuSet> noise{};
  std::map<NoiseSource, CpuSet> restored_noise{};  // get these CPUs back
  std::map<Task, CpuSet> pinned{};                 // threads that get these masks back; without boot_id
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::cpuset
