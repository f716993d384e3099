// The live half of the state and the hardware behind it: discovers, observes, converges. Knows whether the hardware
// matches the setting, and which CPUs still wait for their previous frequency. Engine thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/baselines.h"
#include "engine/model/fwd.h"

namespace nrd {

template <typename MapByCpu>
CpuSet cpus_of(const MapByCpu& by_cpu) {
  CpuSet cpus;
  for (const auto& [cpu, what] : by_cpu) cpus.add(cpu);
  return cpus;
}

class HardwareSync {
 public:
  HardwareSync(Hardware& hardware, const Clock& clock, NodeState& state)
      : hardware_(hardware), clock_(clock), state_(state) {}

  Result<void> discover();
  // Adapts workloads, baselines and observation to what discover() found in place of `before`: a part of it, and of a
  // start when these are loaded.
  void adapt_to_node(const pstate::Node& before);
  // Observes the hardware: frequencies of these CPUs only, the others keep their last observation; tasks of workloads
  // and `others`; where known targets run and what is known to matter of CPUs, and what `added` is about.
  Result<void> refresh(const CpuSet& frequencies, const std::set<TaskClaim>& others = {},
                       const cpuset::Query& added = {});
  // The processes of the infrastructure, and the rest with these frequencies.
  Result<void> refresh_with_infra(const CpuSet& frequencies);
  // Where interrupts and other work of the kernel run, if that matters; refresh() keeps the last observation.
  void refresh_noise();
  // The frequencies alone; CPUs in `last` are not interrupted.
  Result<void> refresh_frequencies(const CpuSet& cpus, const pstate::Observed& last = {});
  // Returns whether this observed all groups.
  Result<bool> refresh_foreign_groups();

  // Configuration: no frequencies, which no configuration changes, so that a CPU in trouble blocks no reload.
  // Changes: of targets, latency limits and work of the kernel, only what differs from the present setting or the last
  // observation; nothing of what confines the rest of the host, which grants never change.
  enum class Scope { All, Configuration, Changes };
  Result<void> converge(Setting setting, Scope scope);
  // Writes a part of the present setting. A failure is noted as a problem.
  Result<void> write(const Setting& part);
  // As write(), of what the hardware has had; a failure means that it no longer matches the setting.
  Result<void> rewrite(const Setting& part);
  // Returns to the setting of the state.
  void rollback();

  // The hardware applied the last setting completely, so a later difference was caused by other software.
  bool is_in_sync() const { return is_in_sync_; }
  void note_in_sync();
  void note_problem(const Error& error);
  // Logs begin and end of a problem without a failed write, such as a frequency limit of the host.
  void report_problem();
  void note_repaired(const std::vector<std::string>& drifted);
  // Claimed CPUs that are offline wait for their frequency.
  void note_absent_cpus();
  // CPUs whose frequency nrd must restore and that were offline or failed.
  const CpuSet& pending_restore() const { return pending_restore_; }

 private:
  void end_problem();
  Result<void> refresh_infra();
  void note_absent(CpuId cpu);
  void note_pending_restore(CpuId cpu);
  void note_restored(CpuId cpu);

  Hardware& hardware_;
  const Clock& clock_;
  NodeState& state_;
  bool is_in_sync_ = false;
  CpuSet pending_restore_;
  CpuSet unrestored_;  // those of them that were online and refused
  std::string reported_problem_;
};

}  // namespace nrd
