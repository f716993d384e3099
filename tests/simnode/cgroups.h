// Cgroups of version 2 with the controllers cpuset and cpu, by the rules of the kernel
// (Documentation/admin-guide/cgroup-v2.rst, kernel/cgroup/cpuset.c since 6.2): processes keep their affinity masks. A
// cgroup has its path from the root as name: "" is the root, "nrd.slice/nrd-7.scope" one below.
//
// Acts answer 0 or an errno. Of partitions only those at the top level can be valid.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "machine.h"
#include "tasks.h"

namespace nrd::simnode {

struct Cgroup {
  std::set<std::string> controllers{};  // that those directly below it have
  Cpus cpus{};                          // cpuset.cpus; empty: as the parent
  Cpus mems{};                          // cpuset.mems, NUMA nodes; likewise
  std::string partition = "member";     // as written
  long weight = 100;
  std::string max = "max 100000";  // "QUOTA PERIOD" in microseconds
  uint64_t usage_us = 0;           // cpu.stat: of each process that came, a millisecond
  Tasks processes{};               // of the root: none, it has all others
};

class Cgroups {
 public:
  explicit Cgroups(const Machine& machine) : machine_(machine) { wipe(); }

  void wipe();  // a reboot
  const std::map<std::string, Cgroup>& all() const { return cgroups_; }
  bool has_controller(const std::string& cgroup, const std::string& controller) const;
  std::set<std::string> controllers(const std::string& cgroup) const;
  Cpus effective(const std::string& cgroup) const;
  Cpus effective_mems(const std::string& cgroup) const;
  std::string partition(const std::string& cgroup) const;  // "root invalid (…)"
  std::set<pid_t> processes(const std::string& cgroup);
  bool is_populated(const std::string& cgroup);

  int make(const std::string& cgroup);
  int remove(const std::string& cgroup);
  int vanish(const std::string& cgroup);  // with all below it; their processes are the root's
  int set_controllers(const std::string& cgroup, std::string_view changes);  // "+cpuset -cpu"
  int set_cpus(const std::string& cgroup, std::string_view list);
  int set_mems(const std::string& cgroup, std::string_view list);
  int set_partition(const std::string& cgroup, std::string_view kind);
  int set_weight(const std::string& cgroup, std::string_view number);
  int set_max(const std::string& cgroup, std::string_view text);
  int move_process(const std::string& cgroup, std::string_view number, pid_t writer);

 private:
  bool has_children(const std::string& cgroup) const;
  std::string why_invalid(const std::string& cgroup) const;  // of a partition; empty: it is valid
  void adopt_children();                                     // into the cgroups of their parents
  void reset_controller(const std::string& parent, const std::string& controller);

  const Machine& machine_;
  std::map<std::string, Cgroup> cgroups_;
};

std::string parent_cgroup(const std::string& cgroup);

}  // namespace nrd::simnode
