// The host's hardware and its workloads at one moment. Immutable once published; readers never wait.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hardware.h"
#include "engine/model/durable_state.h"
#include "engine/model/fwd.h"
#include "engine/model/latency_histogram.h"
#include "engine/model/memory_move.h"
#include "engine/model/pools.h"
#include "engine/model/workloads.h"
#include "engine/plan/frequency_governor.h"

namespace nrd {

struct Health {
  bool writes_frozen = false;    // the last commit's outcome is unknown
  std::string hardware_problem;  // why hardware and setting differ; empty: they agree
  uint64_t drift_repairs = 0;    // settings that other software changed and nrd restored, since start
  uint64_t failed_commits = 0;   // not done, or their outcome was unknown, since start
  friend bool operator==(const Health&, const Health&) = default;
};

// What was observed, and what follows from it. Not stored: a start observes again.
struct LiveState {
  NodeFacts facts;
  std::map<unsigned, PoolPartition> layouts{};  // of each level that is allocated
  std::set<ClosId> made_groups{};  // those of baselines.groups that exist, as far as nrd knows; unused ones are removed
  std::set<Task> infra_tasks;      // processes of the infrastructure, as last observed
  Observed observed;               // as last read, including foreign groups. A target without CPUs is gone
  std::shared_ptr<const plan::ZoneTree> cpu_zones{};  // of facts.cpuset; null before the first discovery
  std::vector<cpuset::Conflict> cpu_conflicts{};      // as of the last search, which each drift check begins
  Health health;
  std::map<CpuId, plan::GovernorState> governors;  // of monitored CPUs
  CpuSet uncounted;                                // monitored and online, but without branch counters
  std::map<CpuId, KHz> current;                    // of CPUs whose frequency a workload sets, as last observed
  LatencyHistograms latencies;
  MemoryMoves memory_moves{};
  uint64_t capacity_revision = 0;  // grows when capacity_of() changes, also across restarts
};

std::shared_ptr<const NodeConfig> default_config();

// A copy is cheap: the parts that grow with the node are shared until they change.
struct NodeState : DurableState, LiveState {
  std::shared_ptr<const NodeConfig> config = default_config();
  const DurableState& durable() const { return *this; }
  DurableState& durable() { return *this; }
};

// `state` with these workloads instead.
NodeState with_workloads(NodeState state, Workloads workloads);
// For the caches of `level`; null where it is not allocated.
const PoolPartition* layout_of(const NodeState& state, unsigned level);
// For those of the main level.
const PoolPartition* main_layout(const NodeState& state);
// All ways of `cache`; empty where it is not allocated.
WayMask all_ways(const NodeState& state, CacheId cache);
// Ways of `cache` granted to workloads.
WayMask granted_ways(const NodeState& state, CacheId cache);
// Ways of `cache` that no workload, infrastructure or foreign group holds; includes the OS floor.
WayMask unassigned_ways(const NodeState& state, CacheId cache);
// Those of them outside the root class's mask, so that nothing fills them.
WayMask idle_ways(const NodeState& state, CacheId cache);
// Ways of `cache` that can be granted: unassigned ones without the OS floor and the infrastructure pool.
WayMask free_ways(const NodeState& state, CacheId cache);
// Online CPUs that belong to no workload and no group: a new workload may request them.
CpuSet free_cpus(const NodeState& state);
// The workload with this id as clients write it, if any.
const Workload* workload_with_id(const NodeState& state, std::string_view id);
// All tasks that workloads reference, and all that nrd has moved.
std::set<Task> known_tasks(const NodeState& state);
// True if `task` belongs to another boot, or the last observation did not find it.
bool has_ended(const NodeState& state, const Task& task);
// The workload that owns `cpu`, if any.
const Workload* owner_of(const NodeState& state, CpuId cpu);
// True if the hardware, as last read, applies what `workload` was granted. Offline CPUs do not count.
bool is_applied(const NodeState& state, const Workload& workload);
// Describes workloads whose memory bandwidth cannot be set because resctrl now uses another unit; empty: none.
std::string bandwidth_problem(const NodeState& state);
// Why the hardware does not apply the grants, as shown by GET /v1/health and the metrics; empty: it does.
std::string problem_of(const NodeState& state);
// Whether further changes are accepted.
bool is_ok(const NodeState& state);
// The monitored CPUs, with the threshold of each.
std::map<CpuId, BranchMissThreshold> monitored_cpus(const Workloads& workloads);
// The frequency setting of `cpu` before nrd changed it: its baseline, or its present value if it is not claimed.
// nullopt if neither is known.
std::optional<pstate::FrequencySetting> original_setting(const NodeState& state, CpuId cpu);
// The setting that a claimed `cpu` gets back once no workload sets it, whether the kernel shows it now or not.
const pstate::FrequencySetting& given_back(const Baselines& baselines, CpuId cpu);
// The window of `cpu` for `workload`, which was granted a frequency there. One that it did not request is that of the
// driver and the boot, which may be others than at the grant.
pstate::FrequencySetting granted_window(const NodeState& state, const Workload& workload, CpuId cpu);
// The setting of `cpu` for `workload`, which was granted a frequency there, on top of the one it had before.
pstate::FrequencySetting wanted_knobs(const NodeState& state, const Workload& workload, CpuId cpu,
                                      const pstate::FrequencySetting& before);
// The highest frequency of `cpu` now: its base frequency while turbo is off, and less with max_percent.
KHz reach(const NodeState& state, const pstate::Cpu& cpu);
// The speed of `cpu`: that of its frequency domain, which is fast if one of its CPUs requests it.
plan::Speed speed_of(const NodeState& state, CpuId cpu);
// Ways of `cache` that devices also fill, so that they are never exclusive.
WayMask io_ways(const NodeState& state, CacheId cache);
// Ways of the root class (the OS) on `cache` under the current setting. Where ways are granted: the longest run of
// unassigned ways, wherever it lies (all of them where masks may have holes), and at least as many as the OS floor, or
// as a mask must have where a group has locked ways of the floor. Otherwise the mask stays as it is.
WayMask os_ways(const NodeState& state, CacheId cache);

}  // namespace nrd
