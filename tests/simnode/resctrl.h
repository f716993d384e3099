// The rules of resctrl (Documentation/filesystems/resctrl.rst) as a plain state machine: groups, and what may be done
// to them. Every act answers 0 or an errno and leaves its reason in last_status(). The root group is named "".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "group.h"
#include "machine.h"
#include "schemata.h"

namespace nrd::simnode {

enum class CpuForm { List, Mask };

class Resctrl {
 public:
  explicit Resctrl(const Machine& machine);

  int make_group(const std::string& name);
  int remove_group(const std::string& name);
  int write_schemata(const std::string& name, std::string_view text);
  int write_cpus(const std::string& name, std::string_view text, CpuForm form);
  int write_tasks(const std::string& name, std::string_view text, pid_t writer);
  int write_mode(const std::string& name, std::string_view text, bool has_monitor_groups);
  int write_io_alloc(const CacheLevel& level, std::string_view text);
  int write_io_alloc_masks(const MaskKind& kind, std::string_view text);

  const std::map<std::string, Group>& groups() const { return groups_; }
  const Group* group(const std::string& name) const;
  const Group* io_alloc() const { return io_alloc_ ? &*io_alloc_ : nullptr; }
  std::set<pid_t> tasks_of(const std::string& name) const;
  std::string bit_usage(const MaskKind& kind) const;
  // last_cmd_status: acts on monitoring groups leave theirs, too.
  void begin_act();
  void clear_status() { status_.clear(); }
  int refuse(int error, std::string status);
  int parse_cpus(std::string_view text, CpuForm form, Cpus& cpus) const;  // 0 or an errno
  std::string last_status() const { return status_.empty() ? "ok\n" : status_; }

  void wipe();  // as after a boot
  void cpu_went_offline(int cpu);
  void cpu_came_online(int cpu);

 private:
  Group& root() { return groups_.at(""); }
  Group new_group(int closid) const;
  int free_closid() const;
  int move_task(Group& to, pid_t task);
  void let_inherit() const;
  bool overlaps(const Group& group) const;
  // Why a group may not have these ways; empty: it may.
  std::string clash(const Group& group, const CacheLevel& level, int cache, Ways ways) const;
  Ways taken_on(int level, int cache, const Group& but, bool only_exclusive) const;
  Ways locked_on(int level, int cache) const;
  bool is_locked_beside(const CacheLevel& level, int cache) const;
  int enter_lock_setup(Group& group, bool has_monitor_groups);
  void lock(Group& group, const Settings& settings);

  const Machine& machine_;
  // Mutable: inheritance of groups is computed on access.
  mutable std::map<std::string, Group> groups_;
  mutable Tasks moved_to_root_;    // by a write: they inherit nothing
  std::optional<Group> io_alloc_;  // the class that devices write with, the highest one
  std::string status_;
};

}  // namespace nrd::simnode
