// Units and cgroups as targets: everything in one cgroup, now and later, by its cpuset.
//
// systemd writes its own values over files of the cgroups that it manages, so units are limited by systemd. The files
// of others are written here.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/cpuset/units.h"

namespace nrd::cpuset {

class Groups {
 public:
  explicit Groups(Units& units) : units_(units) {}

  struct Seen {
    Masks masks;  // where its processes may run; of a unit that does not run, where they would
    Group group;
  };
  // A list, and what the kernel makes of it.
  struct Limit {
    CpuSet own;
    CpuSet effective;
  };
  // nullopt: there is no such unit or cgroup.
  Result<std::optional<Seen>> observe(const Target& target, Deadline deadline);
  void forget_others(const std::set<Target>& targets);
  // Hardware: the effective set is another one. Nothing happens if the target is gone.
  Result<void> limit(const Target& target, const CpuSet& cpus, Deadline deadline);
  // As before, or on all CPUs of its parent.
  Result<void> release(const Target& target, const Masks& before, Deadline deadline);

  // Empty: a unit that was not observed, or does not run.
  std::string known_cgroup(const Target& target) const;

 private:
  Result<std::optional<Seen>> observe_unit(const Target& target, Deadline deadline);
  Result<std::optional<Seen>> observe_cgroup(const Target& target, Deadline deadline);
  Result<std::optional<Unit>> find_unit(const std::string& name, Deadline deadline);
  Result<std::string> manager_of(const std::string& cgroup, Deadline deadline);
  Result<void> limit_unit(const Target& target, const CpuSet& cpus, Deadline deadline);
  static Result<void> limit_cgroup(const Target& target, const CpuSet& cpus);
  Result<void> release_unit(const Target& target, const CpuSet& own, Deadline deadline);
  static Result<void> release_cgroup(const Target& target, const CpuSet& own);
  Result<void> set_unit(const Target& target, const Unit& unit, const Limit& limit, Deadline deadline);
  static Result<void> set_cgroup(const Target& target, const Limit& limit);

  Units& units_;
  std::map<std::string, std::optional<Unit>> known_units_;
  std::map<std::string, std::string> known_managers_;  // of cgroups
};

}  // namespace nrd::cpuset
