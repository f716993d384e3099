#include "hw/cpuset/disturbances.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/find_in.h"
#include "base/number.h"
#include "hw/cpuset/conflicts.h"
#include "hw/cpuset/kernel_facts.h"
#include "hw/cpuset/kernel_work.h"
#include "hw/cpuset/latency.h"

namespace nrd::cpuset {
namespace {

using Source = Disturbance::Source;

std::string folder_of(const std::string& root, CpuId cpu) {
  return fmt::format("{}/sys/devices/system/cpu/cpu{}", root, cpu.value);
}

void add_tick(std::vector<Disturbance>& found, const CheckQuery& query, const std::string& root) {
  const CpuSet cpus = query.cpus - read_nohz_full(root);
  if (cpus.empty()) return;
  const std::string list = cpus.to_string();
  found.push_back(
      {.source = Source::Tick,
       .cpus = cpus,
       .text = "the tick interrupts tasks 100 to 1000 times a second",
       .remedy = fmt::format("nohz_full={} on the kernel's command line: no tick while one task runs", list)});
}

struct IdleState {
  std::string name;
  uint32_t latency_us = 0;
  friend auto operator<=>(const IdleState&, const IdleState&) = default;
};

// The longest that a granted CPU may take to leave an idle state; nullopt: any time.
std::optional<uint32_t> latency_limit(const CheckQuery& query, const std::string& root, CpuId cpu) {
  std::optional<uint32_t> limit = query.latency_us;
  const auto own = observe_latency(root, {cpu.value});
  const LatencyLimit* found = find_in(own, cpu);
  if (found == nullptr) return std::nullopt;  // this kernel has no limits
  if (*found == "n/a") return 0;
  const uint32_t written = parse_number<uint32_t>(*found).value_or(0);
  if (written == 0) return limit;  // the file's 0 is no limit
  return std::min(limit.value_or(written), written);
}

// The enabled one that takes the longest to leave, if any takes time (Documentation/admin-guide/pm/cpuidle.rst).
std::optional<IdleState> deepest_idle_state(const CheckQuery& query, const std::string& root, CpuId cpu) {
  constexpr int kMostStates = 10;  // CPUIDLE_STATE_MAX
  const std::optional<uint32_t> limit = latency_limit(query, root, cpu);
  std::optional<IdleState> deepest;
  for (int number = 0; number < kMostStates; ++number) {
    const std::string state = fmt::format("{}/cpuidle/state{}", folder_of(root, cpu), number);
    const auto latency = parse_number<uint32_t>(line_of(state + "/latency"));
    if (!latency) break;
    if (*latency == 0 || *latency > limit.value_or(*latency) || line_of(state + "/disable") == "1") continue;
    if (!deepest || *latency > deepest->latency_us) deepest = IdleState{line_of(state + "/name"), *latency};
  }
  if (deepest && query.latency_us && deepest->latency_us <= *query.latency_us) return std::nullopt;
  return deepest;
}

void add_idle_states(std::vector<Disturbance>& found, const CheckQuery& query, const std::string& root) {
  std::map<IdleState, CpuSet> states;
  for (const CpuId cpu : query.cpus.members()) {
    if (const auto deepest = deepest_idle_state(query, root, cpu)) states[*deepest].add(cpu);
  }
  for (const auto& [state, cpus] : states) {
    found.push_back({.source = Source::IdleStates,
                     .name = state.name,
                     .cpus = cpus,
                     .text = fmt::format("leaving idle state {} takes {} us", state.name, state.latency_us),
                     .remedy = "latency_us in the pool: 0 permits no idle state"});
  }
}

void add_governors(std::vector<Disturbance>& found, const CheckQuery& query, const std::string& root) {
  std::map<std::string, CpuSet> governors;
  for (const CpuId cpu : query.cpus.members())
    governors[line_of(folder_of(root, cpu) + "/cpufreq/scaling_governor")].add(cpu);
  for (const auto& [governor, cpus] : governors) {
    if (governor.empty() || governor == "performance") continue;
    found.push_back({.source = Source::Governor,
                     .name = governor,
                     .cpus = cpus,
                     .text = fmt::format("governor {} changes the frequency with the load", governor),
                     .remedy = "governor performance: in the workload's pstate, or on the host"});
  }
}

// Documentation/scheduler/sched-rt-group.rst
void add_real_time_limit(std::vector<Disturbance>& found, const CheckQuery& query, const std::string& root) {
  const auto runtime = parse_number<int64_t>(line_of(root + "/proc/sys/kernel/sched_rt_runtime_us"));
  const auto period = parse_number<int64_t>(line_of(root + "/proc/sys/kernel/sched_rt_period_us"));
  if (!runtime || !period || *runtime < 0 || *runtime >= *period) return;
  found.push_back({.source = Source::RealTimeLimit,
                   .cpus = query.cpus,
                   .text = fmt::format("real-time tasks are stopped after {} of each {} us", *runtime, *period),
                   .remedy = "sysctl kernel.sched_rt_runtime_us=-1, if none of them runs without end"});
}

void add_huge_pages(std::vector<Disturbance>& found, const CheckQuery& query, const std::string& root) {
  const std::string file = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (line_of(root + file).find("[always]") == std::string::npos) return;
  found.push_back(
      {.source = Source::HugePages,
       .cpus = query.cpus,
       .text = "the kernel makes huge pages of the memory of all tasks, which stop meanwhile",
       .remedy = fmt::format("madvise in {}, or transparent_hugepage=madvise on the kernel's command line", file)});
}

Source source_of(Conflict::Source source) {
  switch (source) {
    case Conflict::Source::Kubelet: return Source::Kubelet;
    case Conflict::Source::Tuned: return Source::Tuned;
    case Conflict::Source::Irqbalance:
    case Conflict::Source::Partition:
    case Conflict::Source::Cgroup:
    case Conflict::Source::Unit: break;
  }
  return Source::Irqbalance;
}

void add_services(std::vector<Disturbance>& found, const CheckQuery& query, const std::string& root) {
  for (Conflict& conflict : service_conflicts(query.use, root)) {
    found.push_back({.source = source_of(conflict.source),
                     .cpus = std::move(conflict.cpus),
                     .text = std::move(conflict.text),
                     .remedy = std::move(conflict.remedy)});
  }
}

}  // namespace

std::vector<Disturbance> find_disturbances(const CheckQuery& query, const std::string& root) {
  if (query.cpus.empty()) return {};
  std::vector<Disturbance> found = find_interrupts(query, root);
  std::ranges::move(find_kernel_threads(query, root), std::back_inserter(found));
  add_tick(found, query, root);
  add_idle_states(found, query, root);
  add_governors(found, query, root);
  add_real_time_limit(found, query, root);
  add_huge_pages(found, query, root);
  add_services(found, query, root);
  std::ranges::stable_sort(found, {}, &Disturbance::source);
  return found;
}

}  // namespace nrd::cpuset
