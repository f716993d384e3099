// Plain structs of the module that limits processes to CPUs: what the CPUs share (zones), what can be limited
// (targets), and a setting of them.
//
// A target is limited by the CPU affinity of its threads (a task) or by the cpuset of its cgroup (a scope). Success
// of a write means little: the kernel and systemd accept settings without effect. What counts is what was read back.
#pragma once

#include <sys/types.h>

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"
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

// What can be limited to CPUs.
struct Target {
  enum class Kind {
    Task,   // a process with all its threads, or one thread
    Scope,  // a process with all that it starts, in a scope of systemd below nrd.slice
  };
  Kind kind = Kind::Task;
  std::string name{};  // of a scope: "nrd-7.scope"
  Task task{};         // of a scope: the process that moves into it
  friend auto operator<=>(const Target&, const Target&) = default;
};

// Where the threads of a target may run. Within a scope its processes may choose further: a scope has no exceptions.
struct Masks {
  CpuSet cpus;                           // of a task's main thread; of a scope: its cpuset.cpus.effective
  std::map<pid_t, CpuSet> exceptions{};  // threads that may run elsewhere
  bool is_exactly(const CpuSet& wanted) const { return exceptions.empty() && cpus == wanted; }
  friend bool operator==(const Masks&, const Masks&) = default;
};

// The result of discover().
struct Node {
  std::vector<Zone> zones{};  // by level, then by first CPU
  std::string no_scopes{};    // why processes cannot be moved into scopes; empty: they can
  friend bool operator==(const Node&, const Node&) = default;
};

// Of the requested targets. One that does not exist (any more) is left out.
struct Observed {
  std::map<Target, Masks> targets{};
  friend bool operator==(const Observed&, const Observed&) = default;
};

// Targets not named here stay untouched.
struct Setting {
  std::map<Target, CpuSet> limited{};  // run on exactly these
  std::map<Target, Masks>
      restored{};  // are not limited any more, and get these masks back; threads that are not named `cpus`
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::cpuset
