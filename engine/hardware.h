// The host's hardware as the engine sees it. daemon/hardware.cc implements it with the hardware modules; tests use a
// fake.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/cpuset/types.h"
#include "hw/pstate/types.h"
#include "hw/rdt/types.h"

namespace nrd {

// Never stored, always computed: setting_of() in engine/model/setting.h. A new resource is a new field.
struct Setting {
  rdt::Setting rdt;
  pstate::Setting pstate;
  cpuset::Setting cpuset{};
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Observed {
  rdt::Observed rdt;
  pstate::Observed pstate;
  cpuset::Observed cpuset{};
  friend bool operator==(const Observed&, const Observed&) = default;
};

struct NodeFacts {
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  rdt::Node rdt;
  pstate::Node pstate;
  cpuset::Node cpuset{};
  std::string host_name{};
  std::string machine_id{};  // /etc/machine-id; empty: none
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

// For another thread, and outlives the Hardware: changes the memory of a target with processes, which may take minutes.
using ChangeMemory = std::function<Result<void>(const cpuset::MemoryChange&)>;

// Called by the engine thread only.
class Hardware {
 public:
  virtual ~Hardware() = default;
  // For answers of systemd: in all for a request, and for each call outside of requests.
  virtual void set_systemd_timeout(std::chrono::milliseconds /*timeout*/) {}
  // All waits for systemd from here to end_request() together take no longer than one request may.
  virtual void begin_request() {}
  virtual void end_request() {}
  virtual Result<NodeFacts> discover() = 0;
  // All caches and classes, the frequencies of these CPUs, the groups of these tasks, and what `query` is about.
  virtual Result<Observed> observe(const CpuSet& frequencies, const std::set<Task>& tasks,
                                   const cpuset::Query& query) = 0;
  // Other software that also decides about CPUs of pools, now or shortly before.
  virtual std::vector<cpuset::Conflict> conflicts(const cpuset::PoolUse& use) = 0;
  // Services that may run on some CPUs only by CPUAffinity=.
  virtual Result<std::map<std::string, CpuSet>> pinned_services() = 0;
  // Threads whose CPU affinity would be overwritten if the CPU sets of `changed` were converged to.
  virtual Result<std::vector<cpuset::Pinned>> pinned_by(const cpuset::Setting& changed) = 0;
  // What cpuset.cpus.partition of nrd.slice tells: one file, where observe() reads many.
  virtual std::string partition() = 0;
  // The frequencies alone: few files, where observe() reads all groups. CPUs in `last` are not interrupted: what the
  // kernel has to ask them for is as in `last`.
  virtual Result<pstate::Observed> observe_frequencies(const CpuSet& cpus, const pstate::Observed& last) = 0;
  // Where interrupts and other work of the kernel run: a file for each interrupt.
  virtual std::map<cpuset::NoiseSource, CpuSet> observe_noise() = 0;
  // The names of all resctrl groups except the root; cheaper than observe().
  virtual Result<std::set<std::string>> group_names() = 0;
  // The processes of these users that match one of these patterns (base/task.h); their boot_id is left empty.
  virtual Result<std::set<Task>> find_processes(const std::vector<std::string>& patterns,
                                                const std::set<uid_t>& users) = 0;
  // Checks that the locks that converge() needs are free; waits briefly. Busy names the holder.
  virtual Result<void> await_locks() = 0;
  // If one resource fails, the others are converged all the same; returns the first error. Otherwise the
  // CPUs whose frequency could not be restored or that are offline; the engine retries them.
  virtual Result<CpuSet> converge(const Setting& wanted) = 0;
  virtual ChangeMemory memory_changer() = 0;
  // The current frequencies of these CPUs, where known.
  virtual std::map<CpuId, KHz> current_frequencies(const CpuSet& cpus) = 0;
  // The kernel's counters for these classes on these caches. A group that does not exist is left out. `asked`: the
  // classes whose monitoring was requested.
  virtual rdt::Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes,
                                  const std::set<ClosId>& asked) = 0;
  // Counts since the first request for each CPU; counting ends for a CPU that is not requested. An unreadable CPU is
  // left out.
  virtual std::map<CpuId, pstate::BranchCounts> count_branches(const CpuSet& cpus) = 0;
};

}  // namespace nrd
