// Units of systemd, over D-Bus. systemd writes its own values over files of cgroups that it made, so only it is asked.
//
// It reports success for settings without effect: the caller reads cpuset.cpus.effective.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/cpu_set.h"
#include "base/result.h"

struct sd_bus;

namespace nrd::cpuset {

// Below which all scopes of nrd are.
inline constexpr const char* kSlice = "nrd.slice";

using Deadline = std::chrono::steady_clock::time_point;

class Units {
 public:
  Units();
  ~Units();
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;

  // Why systemd cannot be asked; empty: it can.
  std::string why_not();

  // A scope below nrd.slice with this process, which may run on `cpus`. Returns when systemd has queued the move. Busy:
  // no answer by `deadline`.
  Result<void> start_scope(const std::string& name, pid_t process, const CpuSet& cpus, Deadline deadline);
  // AllowedCPUs= of the unit until it ends or the host reboots. Empty: none; its processes then keep the CPUs that they
  // have, so it needs all CPUs before.
  Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& cpus, Deadline deadline);

 private:
  Result<sd_bus*> connection();
  void disconnect();

  sd_bus* bus_ = nullptr;
};

}  // namespace nrd::cpuset
