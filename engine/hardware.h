// The whole node as the engine sees it. daemon/hardware.cc joins the hardware rooms behind it; tests have a fake one.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "hw/pstate/types.h"
#include "hw/rdt/types.h"

namespace nrd {

// Never stored, always computed: setting_of() in engine/model/setting.h. A new resource is a new field.
struct Setting {
  rdt::Setting rdt;
  pstate::Setting pstate;
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Observed {
  rdt::Observed rdt;
  pstate::Observed pstate;
  friend bool operator==(const Observed&, const Observed&) = default;
};

struct NodeFacts {
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  rdt::Node rdt;
  pstate::Node pstate;
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

// Called by the engine thread only.
class Hardware {
 public:
  virtual ~Hardware() = default;
  virtual Result<NodeFacts> discover() = 0;
  // Caches and classes whole, the frequencies of these CPUs, and where these tasks are.
  virtual Result<Observed> observe(const CpuSet& frequencies, const std::set<Task>& tasks) = 0;
  // The frequencies alone: few files, where observe() reads all groups.
  virtual Result<pstate::Observed> observe_frequencies(const CpuSet& cpus) = 0;
  // The names of all groups of resctrl but the root; cheaper than observe().
  virtual Result<std::set<std::string>> group_names() = 0;
  // The processes of these users that match one of these patterns (base/task.h); their boot_id is left empty.
  virtual Result<std::set<Task>> find_processes(const std::vector<std::string>& patterns,
                                                const std::set<uid_t>& users) = 0;
  // Whether nobody keeps the locks that converge() takes; waits a moment. Busy, with who has one.
  virtual Result<void> await_locks() = 0;
  // The answer is the CPUs whose frequency could not be put back, or who are not there; they are tried again later.
  virtual Result<CpuSet> converge(const Setting& wanted) = 0;
  // What these CPUs run at, as far as it can be told.
  virtual std::map<CpuId, KHz> current_frequencies(const CpuSet& cpus) = 0;
  // What the kernel counts for these classes on these caches. A group that is not there is left out. `asked`: those
  // of them whose monitoring was requested.
  virtual rdt::Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes,
                                  const std::set<ClosId>& asked) = 0;
  // Since each of them was first asked for; counting goes on until one is not asked for. Who cannot be read is left
  // out.
  virtual std::map<CpuId, pstate::BranchCounts> count_branches(const CpuSet& cpus) = 0;
};

}  // namespace nrd
