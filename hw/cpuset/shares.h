// CPU time of units, scopes and cgroups: cpu.weight and cpu.max (Documentation/admin-guide/cgroup-v2.rst, "CPU"). Of
// what systemd manages, systemd is asked; the files of others are written here.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

class Shares {
 public:
  explicit Shares(Units& units) : units_(units) {}

  // Of a scope, unit or cgroup. nullopt: there is no such one, or it has no cpu controller that could be enabled.
  Result<std::optional<Share>> observe(const Target& target, Deadline deadline);
  void forget_others(const std::set<Target>& targets) { keep_only(known_, targets); }
  // Hardware: the files say something else after the write. Nothing happens if the target is gone.
  Result<void> set(const Target& target, const Share& share, Deadline deadline);

 private:
  Result<std::optional<Share>> observe_unit(const Target& target, Deadline deadline);
  Result<void> set_of_unit(const Target& target, const Share& share, Deadline deadline);

  Units& units_;
  std::map<std::string, UnitShare> known_;  // of units that run, as systemd last reported
};

}  // namespace nrd::cpuset
