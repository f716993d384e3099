// Limits processes to CPUs, their CPU time, their memory to NUMA nodes, and the idle states of CPUs, and tells what
// CPUs share.
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/cpuset/conflicts.h"
#include "hw/cpuset/groups.h"
#include "hw/cpuset/memory.h"
#include "hw/cpuset/noise.h"
#include "hw/cpuset/shares.h"
#include "hw/cpuset/topology.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

// To be made before other threads start.
class Cpuset {
 public:
  // How long each of observe() and converge() waits for systemd. Outside requests it is at least 5 s for what confines
  // the rest of the host and for observing, unless systemd did not answer the time before.
  void set_systemd_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // From here to end_request() they wait so long together, apart from what undoes.
  void begin_request() { left_ = timeout_; }
  void end_request() { left_.reset(); }
  Result<Node> discover();
  // Targets that have ended, and CPUs without a limit, are left out.
  Result<Observed> observe(const Query& query);
  // Threads whose masks the kernel would overwrite if `limited` and `restored` of `changed` were converged to: none
  // from Linux 6.2 on. At most kMostProcesses.
  Result<std::vector<Pinned>> pinned_by(const Setting& changed) const;
  std::map<NoiseSource, CpuSet> observe_noise() { return noise_.observe(); }
  // Other software that also decides about CPUs of pools. Waits for a short time: on a host with very many cgroups or
  // processes they are those of the call before.
  std::vector<Conflict> conflicts(const PoolUse& use);
  // Services that may run on some CPUs only by CPUAffinity=. None without systemd. Busy: it has not answered in time.
  Result<std::map<std::string, CpuSet>> pinned_services();
  // Hardware names the target whose effective set, or the CPU whose limit, is another one after the write. Busy:
  // systemd has not answered in time.
  Result<void> converge(const Setting& wanted);

 private:
  // Outside requests, and for what confines the rest of the host.
  std::chrono::milliseconds background_timeout() const;
  Deadline deadline_after(std::chrono::milliseconds timeout) const;
  void spend_since(Deadline begun);
  Result<Observed> observe_until(const Query& query, Deadline deadline);
  Result<void> converge_targets(const Setting& wanted);
  Result<void> shrink_partition(const std::map<Target, CpuSet>& limited, Deadline deadline);
  Result<void> limit(const Target& target, const CpuSet& cpus, const MemoryNodes& nodes, Deadline deadline);
  Result<void> release(const Target& target, const Masks& before, Deadline deadline);
  Result<void> free(const Target& target, const Masks& before, Deadline deadline);

  std::chrono::milliseconds timeout_{800};
  bool is_undoing_ = false;  // systemd did not answer converge() in time; until the next that it does, or observe()
  bool is_silent_ = false;   // systemd did not answer in time, the last time that it was asked for something
  std::optional<Deadline::duration> left_;  // to wait for systemd, of a request
  Topology topology_;
  Units units_;
  Groups groups_{units_};
  Shares shares_{units_};
  MemoryBinding memory_{units_};
  Noise noise_;
  PinnedServices pinned_services_;  // only for the search
  std::future<std::vector<Conflict>> search_;
  std::vector<Conflict> found_;
};

}  // namespace nrd::cpuset
