// Baselines: the values that settings had before nrd first wrote them, and which of them nrd must still
// restore.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/shared.h"
#include "base/task.h"
#include "base/way_mask.h"
#include "engine/model/fwd.h"
#include "hw/cpuset/types.h"
#include "hw/pstate/types.h"
#include "hw/rdt/types.h"

namespace nrd {

// A task that was moved into a class, and must be moved back.
struct TaskClaim {
  Task task;
  ClosId clos;
  friend auto operator<=>(const TaskClaim&, const TaskClaim&) = default;
};

// Work of the kernel that was moved off CPUs. If it runs elsewhere than nrd has ever put it, other software has moved
// it since, and the claim is void.
struct NoiseClaim {
  CpuSet before;
  std::vector<CpuSet> written;  // before each is written
  friend bool operator==(const NoiseClaim&, const NoiseClaim&) = default;
};

// The frequency setting of a CPU under the driver that had it then.
struct FrequencyClaim : pstate::FrequencySetting {
  std::string driver;  // pstate::Cpu::driver; empty: claimed by a version that did not store it
  friend bool operator==(const FrequencyClaim&, const FrequencyClaim&) = default;
};

// Values of the settings that nrd owns, from before its first write in this boot.
struct Baselines {
  std::map<ClosId, std::map<CacheId, WayMask>> ways;  // of the root class; other groups are removed at release
  SharedMap<CpuId, ClosId> cpus;
  SharedMap<CpuId, FrequencyClaim> frequencies;
  // For some of these: the value that other software wrote while a workload used the CPU. Restored instead at release.
  std::map<CpuId, pstate::FrequencySetting> frequencies_of_others{};
  std::set<ClosId> groups{};  // classes whose groups nrd may create and remove in this boot
  std::set<TaskClaim> tasks;  // moved into a class; one that no workload references moves back to the root class
  std::map<cpuset::Target, cpuset::Masks> cpu_sets{};  // where they ran before nrd limited them
  std::map<cpuset::Target, cpuset::Share> cpu_shares{};
  std::map<cpuset::Target, cpuset::MemoryNodes> memory{};  // what they had themselves
  std::map<CpuId, cpuset::LatencyLimit> latency{};
  std::map<cpuset::NoiseSource, NoiseClaim> noise{};
  std::map<Task, CpuSet> pinned{};  // threads whose masks a write overwrites that may not be complete yet
  friend bool operator==(const Baselines&, const Baselines&) = default;
};

// An existing entry of `baselines` wins, except of noise, where an added one has more.
void merge(Baselines& baselines, const Baselines& added);
// The values of `setting` without a baseline, as observed in `state`. A value that was not observed is left out: see
// unreadable().
Baselines unclaimed(const NodeState& state, const Setting& setting);

// CPUs whose frequency `setting` sets while their previous value is unknown.
CpuSet unreadable(const NodeState& state, const Setting& setting);

// Do not touch unclaimed settings: they could not be restored. Tasks moving back need no claim.
Setting without_unclaimed(Setting setting, const Baselines& baselines);
// The baselines of `state` without those of settings that no workload uses and that other software has changed. nrd no
// longer restores these. `before` is the setting before `state` was observed.
Baselines owned_baselines(const NodeState& state, const rdt::Setting& before);

// The frequencies to restore at release where other software has overwritten what is `wanted`; the newest value of each
// setting. Leaves out CPUs without a new value, and those of `except` and their frequency domains.
std::map<CpuId, pstate::FrequencySetting> written_by_others(const NodeState& state, const pstate::Setting& wanted,
                                                            const CpuSet& except);

// Claims of tasks that no workload references any more and that need no further work: the task is in another class or
// has exited, and the class is empty or has tasks of other software.
std::vector<TaskClaim> finished_task_claims(const NodeState& state);

}  // namespace nrd
