// Memory nodes of scopes, units and cgroups: cpuset.mems (Documentation/admin-guide/cgroup-v2.rst). The kernel moves
// what a cgroup has in memory inside the write, which may take seconds, so only MemoryMover changes that of a target
// with processes, on a thread of its own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

class MemoryBinding {
 public:
  explicit MemoryBinding(Units& units) : units_(units) {}

  // Nodes of the host that have memory.
  static Result<MemoryNodes> nodes();
  // nullopt: there is no such target, or it has no cpuset that could be enabled.
  Result<std::optional<Memory>> observe(const Target& target, Deadline deadline);
  void forget_others(const std::set<Target>& targets) { keep_only(known_, targets); }
  // A scope must have been started with them. Hardware: it has other ones after the write, or processes that keep it
  // from being changed. Nothing happens if the target is gone.
  Result<void> bind(const Target& target, const MemoryNodes& nodes, Deadline deadline);
  // Also of a target with processes. Nothing happens if it does not run.
  Result<void> move(const Target& target, const MemoryNodes& nodes, Deadline deadline);
  // What it had before; all nodes of the parent if it has processes, which might have to move for less.
  Result<void> release(const Target& target, const MemoryNodes& own, Deadline deadline);

 private:
  // Its cgroup and AllowedMemoryNodes=. nullopt: there is no such target.
  struct TargetCgroup {
    std::string cgroup{};
    MemoryNodes own{};
  };
  Result<std::optional<TargetCgroup>> find(const Target& target, Deadline deadline);
  static Result<Memory> read(const TargetCgroup& found);
  Result<void> set(const Target& target, const MemoryNodes& nodes, Deadline deadline);
  Result<void> set_and_check(const Target& target, const std::string& cgroup, const MemoryNodes& nodes,
                             Deadline deadline);

  Units& units_;
  std::map<std::string, TargetCgroup> known_;  // units, as systemd last reported
};

// Changes the memory nodes of a target that has processes: seconds for each GB, so it has its own connection to
// systemd. One call at a time, from any thread.
class MemoryMover {
 public:
  // Hardware: it has other nodes after the write. Success if the target has ended.
  Result<void> apply(const MemoryChange& change);

 private:
  Units units_;
  MemoryBinding memory_{units_};
};

}  // namespace nrd::cpuset
