// Units of systemd, over D-Bus. systemd writes its own values over files of cgroups that it made, so only it is asked.
//
// It reports success for settings without effect: the caller reads cpuset.cpus.effective.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "base/result.h"
#include "hw/cpuset/types.h"

struct sd_bus;

namespace nrd::cpuset {

// Below which all scopes of nrd are.
inline constexpr const char* kSlice = "nrd.slice";

using Deadline = std::chrono::steady_clock::time_point;

struct Unit {
  std::string name{};          // its own, if it was asked for by an alias
  std::string cgroup{};        // "/system.slice/feed.service"; empty: it does not run
  std::string slice{};         // "system.slice"; "-.slice": the root
  CpuSet allowed{};            // AllowedCPUs=; empty: none
  MemoryNodes memory_nodes{};  // AllowedMemoryNodes=; empty: none
  bool is_delegated = false;   // Delegate=: it manages the cgroups below its own
};

struct UnitShare {
  Share share{};
  std::string cgroup{};  // empty: it does not run
};

class Units {
 public:
  Units();
  ~Units();
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;

  // True if systemd is the init of this host.
  static bool is_booted();
  // Why systemd cannot be asked on this host; empty: it can, even if it does not answer now.
  std::string why_not(Deadline deadline);

  // A scope below nrd.slice with this process, which may run on `cpus`, with memory of `nodes`; empty: of all. Returns
  // when systemd has queued the move. Busy: no answer by `deadline`.
  Result<void> start_scope(const std::string& name, pid_t process, const CpuSet& cpus, const MemoryNodes& nodes,
                           Deadline deadline);
  // Returns when systemd has queued it.
  Result<void> start(const std::string& unit, Deadline deadline);
  // True once it has started: then systemd has written all files of its cgroup, and of those above.
  Result<bool> is_active(const std::string& unit, Deadline deadline);
  // AllowedCPUs= of the unit until the host reboots, or until a scope ends.
  Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& cpus, Deadline deadline);
  // No AllowedCPUs= any more: its processes may run on `all`.
  Result<void> clear_allowed_cpus(const std::string& unit, const CpuSet& all, Deadline deadline);
  // AllowedMemoryNodes=, likewise; empty: none.
  Result<void> set_memory_nodes(const std::string& unit, const MemoryNodes& nodes, Deadline deadline);
  // CPUWeight= and CPUQuota=. nullopt: systemd has no unit of this name.
  Result<std::optional<UnitShare>> share_of(const std::string& unit, Deadline deadline);
  // Likewise, until the host reboots, or until a scope ends.
  Result<void> set_share(const std::string& unit, const Share& share, Deadline deadline);
  // A service, scope or slice. nullopt: systemd has none of this name.
  Result<std::optional<Unit>> find(const std::string& name, Deadline deadline);
  // Services that CPUAffinity= keeps on some CPUs, apart from those in nrd.slice.
  Result<std::map<std::string, CpuSet>> pinned_services(Deadline deadline);
  // The name of the unit that `cgroup` is of, or is below of. Empty: none.
  Result<std::string> unit_of(const std::string& cgroup, Deadline deadline);

 private:
  Result<void> set_list(const std::string& unit, const char* property, const CpuSet& list, Deadline deadline);
  // Connected, with the bus having let us in. Busy: not by `deadline`.
  Result<sd_bus*> connection(Deadline deadline);
  void disconnect();

  sd_bus* bus_ = nullptr;
  bool has_connected_ = false;
};

}  // namespace nrd::cpuset
