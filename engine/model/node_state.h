// What the node is and holds at one moment. Immutable once published; reads use it and never wait.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/hardware.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/latency_histogram.h"
#include "engine/model/policy.h"
#include "engine/model/pools.h"
#include "engine/model/reserved_cpus.h"
#include "engine/model/workload.h"
#include "engine/plan/frequency_governor.h"
#include "engine/plan/ways.h"
#include "store/records.h"

namespace nrd {

// What the owned knobs said before nrd touched them, in this boot.
struct Baselines {
  std::map<ClosId, std::map<CacheId, WayMask>> ways;  // of the root class; the others' groups are removed
  std::map<CpuId, ClosId> cpus;
  std::map<CpuId, pstate::FrequencySetting> frequencies;
  // Of some of these: what others wrote while the CPU was set for a workload. At the end it is given back instead.
  std::map<CpuId, pstate::FrequencySetting> frequencies_of_others{};
  std::map<ClosId, std::map<CacheId, rdt::Bandwidth>> bandwidth{};  // likewise
  std::set<ClosId> groups{};         // of classes: nrd may make and remove these in this boot
  std::set<store::TaskClaim> tasks;  // moved into a class: who no workload names any more goes to the root class
  friend bool operator==(const Baselines&, const Baselines&) = default;
};

struct Health {
  bool writes_frozen = false;    // the last commit's outcome is unknown
  std::string hardware_problem;  // why hardware and setting differ, empty if they agree
  uint64_t drift_repairs = 0;    // knobs found changed by others and put back, since start
  friend bool operator==(const Health&, const Health&) = default;
};

struct NodeState {
  uint64_t revision = 0;  // of the store
  NodeFacts facts;
  std::optional<PoolPartition> layout;       // absent on a node without L3 CAT
  std::optional<PoolPartition> l2_layout{};  // of L2 caches beside those of L3
  plan::Shrink shrink = plan::Shrink::No;
  std::optional<unsigned> max_shared;  // workloads in the shared class; nullopt: as many as want to
  ReservedCpus groups;
  unsigned reserved_classes = 0;  // kept for groups of others, those that exist included
  ForeignGroups foreign_policy = ForeignGroups::Report;
  std::set<ClosId>
      made_groups{};           // those of baselines.groups that exist, as far as nrd knows; unneeded ones are removed
  std::set<Task> infra_tasks;  // processes of the infrastructure, at the last look
  std::shared_ptr<const Policies> policies;  // of this microarchitecture; null: there are none
  std::map<WorkloadId, Workload> workloads;
  Baselines baselines;
  Observed observed;  // as last read: shows what others hold
  Health health;
  std::map<CpuId, plan::GovernorState> paces;  // of monitored CPUs
  CpuSet uncounted;                            // monitored and online, but their branches cannot be counted
  std::map<CpuId, KHz> current;                // of CPUs that are set for a workload, at the last look
  LatencyHistograms timings;
};

// Of the level of `cache`.
const std::optional<PoolPartition>& partition_of(const NodeState& state, CacheId cache);
// Ways of `cache` that workloads have.
WayMask granted_ways(const NodeState& state, CacheId cache);
// Ways of `cache` that neither workloads nor the infrastructure nor foreign groups have; the OS floor is among them.
WayMask unassigned_ways(const NodeState& state, CacheId cache);
// Of these the ones that are outside the mask of the root class, so that nothing fills them.
WayMask idle_ways(const NodeState& state, CacheId cache);
// Ways of `cache` that can be granted: unassigned ones without the OS floor and the infra pool.
WayMask free_ways(const NodeState& state, CacheId cache);
// How many workloads run with Onload.
size_t workloads_with_onload(const NodeState& state);
// CPUs that run and that neither a workload nor a group has: a new workload may name them.
CpuSet free_cpus(const NodeState& state);
// The workload whose id clients write so, if any.
const Workload* workload_with_id(const NodeState& state, std::string_view id);
// All tasks that workloads name, and those that were moved for one.
std::set<Task> known_tasks(const NodeState& state);
// `task` is of another boot, or was looked for and was not there any more.
bool has_ended(const NodeState& state, const Task& task);
// The workload that owns `cpu`, if any.
const Workload* owner_of(const NodeState& state, CpuId cpu);
// The hardware, as last read, gives `workload` what was granted. Offline CPUs do not count.
bool is_applied(const NodeState& state, const Workload& workload);
// Workloads whose memory bandwidth cannot be set, because resctrl speaks of another unit by now; in words, empty: none.
std::string bandwidth_problem(const NodeState& state);
// Why the hardware does not hold what was granted, as GET /v1/health says and the metrics do; empty: it does.
std::string problem_of(const NodeState& state);
// And whether more can be asked for.
bool is_ok(const NodeState& state);
// CPUs that run fast or slow as their branches say, with the threshold of each.
std::map<CpuId, BranchMissThreshold> monitored_cpus(const NodeState& state);
// What the frequency of `cpu` was set to before nrd: its baseline, or what it is set to now if it is not claimed.
// Nullopt if neither is known.
std::optional<pstate::FrequencySetting> before_us(const NodeState& state, CpuId cpu);
// What a claimed `cpu` gets back once no workload sets it.
const pstate::FrequencySetting& given_back(const Baselines& baselines, CpuId cpu);
// What `cpu` must be set to now for `workload`, which was granted a frequency there, on top of what it was set to
// before.
pstate::FrequencySetting wanted_knobs(const NodeState& state, const Workload& workload, CpuId cpu,
                                      pstate::FrequencySetting before);
// How high `cpu` can go now: to its base while turbo is off.
KHz reach(const pstate::Node& node, const pstate::Cpu& cpu);
// The pace at which `cpu` is kept: that of its domain, which is fast if one of its CPUs asks for it.
plan::Speed pace_of(const NodeState& state, CpuId cpu);
// Ways of `cache` that devices fill too, so that nothing else has them alone.
WayMask io_ways(const NodeState& state, CacheId cache);
// Ways the root class (the OS) has on `cache` under the current setting: where ways are in use the longest run of
// unassigned ways, wherever it lies (all of these where masks may have holes), and as many ways as the OS floor has at
// least. Where none are in use the mask is left as it is.
WayMask os_ways(const NodeState& state, CacheId cache);

}  // namespace nrd
