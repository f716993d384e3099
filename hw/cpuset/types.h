// Plain structs of the module that limits processes to CPUs: what the CPUs share (zones), what can be limited
// (targets), and a setting of them.
//
// A target is limited by the CPU affinity of its threads (a task) or by cpuset.cpus of its cgroup (the others). Success
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
    Task,    // a process with all its threads, or one thread
    Scope,   // a scope of nrd, below nrd.slice: "nrd-7.scope"; `task` is the process that moves into it
    Unit,    // a unit of systemd: "feed.service"
    Cgroup,  // a cgroup of version 2 that no unit of systemd owns: "/x/y", below its mount point
  };
  Kind kind = Kind::Task;
  std::string name{};  // of the unit, scope or cgroup
  Task task{};         // of a Task
  friend auto operator<=>(const Target&, const Target&) = default;
};

// Where the threads of a target may run.
struct Masks {
  CpuSet cpus;                           // of a task's main thread; of a cgroup: its cpuset.cpus.effective
  std::map<pid_t, CpuSet> exceptions{};  // threads that may run elsewhere
  bool is_exactly(const CpuSet& wanted) const { return exceptions.empty() && cpus == wanted; }
  friend bool operator==(const Masks&, const Masks&) = default;
};

// The result of discover().
struct Node {
  std::vector<Zone> zones{};         // by level, then by first CPU
  std::string no_cgroups{};          // why there is no cpuset controller of cgroup v2; empty: there is one
  std::string no_units{};            // why systemd cannot be asked; empty: it can
  std::string mount_point{};         // of cgroup v2: "/sys/fs/cgroup"; empty: none
  bool overwrites_affinity = false;  // before Linux 6.2 a change of a cpuset overwrites the masks of its tasks
  friend bool operator==(const Node&, const Node&) = default;
};

// Of the requested targets. One that does not exist (any more) is left out.
struct Observed {
  std::map<Target, Masks> targets{};
  friend bool operator==(const Observed&, const Observed&) = default;
};

// Targets not named here stay untouched.
struct Setting {
  std::map<Target, CpuSet> limited{};  // each thread runs on exactly these
  std::map<Target, Masks> restored{};  // tasks get these masks back; threads that are not named get `cpus`
  std::set<Target> released{};         // scopes, units and cgroups: nrd's limit is taken away
  std::map<Target, Task> moved{};      // scopes that must exist, with the process that moves into them
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::cpuset
