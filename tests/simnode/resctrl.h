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
  int write_mode(const std::string& name, std::string_view text);

  const std::map<std::string, Group>& groups() const { return groups_; }
  const Group* group(const std::string& name) const;
  std::set<pid_t> tasks_of(const std::string& name) const;
  std::string bit_usage(const CacheLevel& level) const;
  void note(std::string status) { status_ = std::move(status); }
  std::string last_status() const { return status_.empty() ? "ok\n" : status_; }

  void wipe();  // as after a boot
  void cpu_went_offline(int cpu);
  void cpu_came_online(int cpu);

 private:
  Group& root() { return groups_.at(""); }
  Group new_group(int closid) const;
  int free_closid() const;
  int refuse(int error, std::string status);
  int move_task(Group& to, pid_t task);
  void let_inherit() const;
  bool overlaps(const Group& group) const;
  bool clashes_with_exclusive(const Group& group, const Settings& wanted);
  Ways taken_on(int level, int cache, const Group& but, bool only_exclusive) const;

  const Machine& machine_;
  // Mutable: who has inherited a group is found out when somebody looks.
  mutable std::map<std::string, Group> groups_;
  mutable Tasks moved_to_root_;  // by somebody: they inherit nothing
  std::string status_;
};

}  // namespace nrd::simnode
