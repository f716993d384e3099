// What resctrl counts (Documentation/filesystems/resctrl.rst, "Resource monitoring"): a set of counters for each group,
// and the groups below mon_groups, which take CPUs and tasks out of their parent's own set and stay part of its sum.
//
// Nothing runs here, so a counter says what a test made it say. A group is named as its folder: "" the root, "COS1",
// and below mon_groups "COS1/mon_groups/x" or "mon_groups/x". Acts answer 0 or an errno, and leave a reason in
// `status`.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "machine.h"
#include "resctrl.h"

namespace nrd::simnode {

class Monitoring {
 public:
  Monitoring(const Machine& machine, Resctrl& resctrl)
      : machine_(machine), resctrl_(resctrl), assigns_(machine.shape().mbm_counters > 0) {
    begin("");
  }

  struct Group {
    Cpus cpus;
    Tasks tasks;
  };

  // RMIDs. A group of any kind has one. That of a removed group stays in limbo for a while, as long as lines with it
  // may be in the cache.
  int lack_of_rmids();  // for one more group: 0, EBUSY while some are in limbo, ENOSPC
  size_t rmids_used() const;
  void free_rmids(size_t used_before);
  int make_group(const std::string& name);
  int remove_group(const std::string& name);
  int write_cpus(const std::string& name, std::string_view text, CpuForm form);
  void class_got_cpus(const std::string& name);  // those of the groups below go back to it
  int write_tasks(const std::string& name, std::string_view text, pid_t writer);
  const std::map<std::string, Group>& groups();
  const Group* group(const std::string& name);
  bool has_groups_below(const std::string& parent);

  // One file of mon_data: of a class the sum with its groups below mon_groups.
  std::string show(const std::string& name, int cache, const std::string& counter);
  // "7" sets it, "+7" adds to it, "Unavailable" and "Error" stand in its place until it is set. False: not understood,
  // or there is no such group, cache or counter.
  bool move(const std::string& name, int cache, const std::string& counter, const std::string& to);

  // Counters that are assigned to groups (mbm_assign_mode mbm_event), as info/L3_MON and mbm_L3_assignments show them.
  // Nothing is shown of them in the mode default, in which each group has its own.
  std::string show_assign_mode() const;
  std::string show_assign_on_mkdir() const { return assigns_on_mkdir_ ? "1\n" : "0\n"; }
  int show_assignments(const std::string& name, std::string& text);
  int show_available(std::string& text);
  int write_assign_mode(std::string_view text);
  int write_assign_on_mkdir(std::string_view text);
  int write_assignments(const std::string& name, std::string_view text);

  void begin(const std::string& name);  // a group of this name was made; what one before it had is gone
  void wipe();

 private:
  struct Counter {
    std::uint64_t value = 0;
    std::string word;  // instead
  };

  using Assigned = std::set<std::pair<std::string, int>>;  // counter and domain

  void settle();  // CPUs, tasks and groups that the class has no more
  bool is_counted(const std::string& name, int domain, const std::string& counter) const;
  int assign(const std::string& name, const std::string& counter, const std::set<int>& domains);
  int modify(const std::string& name, const std::string& counter, std::string_view domains);
  int check_assigns();
  int available(int domain) const;
  std::vector<std::string> assignable() const;
  bool has(const std::string& name) { return resctrl_.group(name) != nullptr || group(name) != nullptr; }

  const Machine& machine_;
  Resctrl& resctrl_;
  std::map<std::string, Group> groups_;  // those below mon_groups
  std::map<std::string, std::map<std::pair<int, std::string>, Counter>> counters_;
  std::vector<std::chrono::steady_clock::time_point> limbo_;  // when each is free again
  std::map<std::string, Assigned> assigned_;
  bool assigns_;  // mbm_assign_mode is mbm_event
  bool assigns_on_mkdir_ = true;
};

// "COS1" of "COS1/mon_groups/x", "" of "mon_groups/x".
std::string class_above(const std::string& name);

}  // namespace nrd::simnode
