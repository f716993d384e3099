// What resctrl counts (Documentation/filesystems/resctrl.rst, "Resource monitoring"): a set of counters for each group,
// and the groups below mon_groups, which take CPUs and tasks out of their parent's own set and stay part of its sum.
//
// Nothing runs here, so a counter says what a test made it say. A group is named as its folder: "" the root, "COS1",
// and below mon_groups "COS1/mon_groups/x" or "mon_groups/x". Acts answer 0 or an errno, and leave a reason in
// `status`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "machine.h"
#include "resctrl.h"

namespace nrd::simnode {

class Monitoring {
 public:
  Monitoring(const Machine& machine, Resctrl& resctrl) : machine_(machine), resctrl_(resctrl) {}

  struct Group {
    Cpus cpus;
    Tasks tasks;
  };

  bool has_rmid() const;  // for one more group of any kind
  int make_group(const std::string& name);
  int remove_group(const std::string& name);
  int write_cpus(const std::string& name, std::string_view text, CpuForm form);
  int write_tasks(const std::string& name, std::string_view text, pid_t writer);
  const std::map<std::string, Group>& groups();
  const Group* group(const std::string& name);

  // One file of mon_data: of a class the sum with its groups below mon_groups.
  std::string show(const std::string& name, int cache, const std::string& counter);
  // "7" sets it, "+7" adds to it, "Unavailable" and "Error" stand in its place until it is set. False: not understood,
  // or there is no such group, cache or counter.
  bool move(const std::string& name, int cache, const std::string& counter, const std::string& to);

  void forget(const std::string& name);  // the class begins anew, and so does what is below it
  void wipe();

 private:
  struct Counter {
    std::uint64_t value = 0;
    std::string word;  // instead
  };

  void settle();  // CPUs, tasks and groups that the class has no more
  bool has(const std::string& name) { return resctrl_.group(name) != nullptr || group(name) != nullptr; }

  const Machine& machine_;
  Resctrl& resctrl_;
  std::map<std::string, Group> groups_;  // those below mon_groups
  std::map<std::string, std::map<std::pair<int, std::string>, Counter>> counters_;
};

// "COS1" of "COS1/mon_groups/x", "" of "mon_groups/x".
std::string class_above(const std::string& name);

}  // namespace nrd::simnode
