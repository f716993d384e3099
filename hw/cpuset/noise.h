// What else the kernel runs on CPUs, and on which: interrupts of devices, work of unbound queues, the lockup watchdog.
//
//   /proc/irq/N/smp_affinity_list                  an interrupt. The kernel manages some itself (queues of NVMe and
//                                                  virtio-blk) and refuses to move them
//   /proc/irq/default_smp_affinity                 interrupts that devices request from now on
//   /sys/devices/virtual/workqueue/cpumask         unbound workqueues
//   /proc/sys/kernel/watchdog_cpumask              the watchdog's timer and thread of each CPU
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {

class Noise {
 public:
  // `root` is prepended to proc and sys; "" is the host itself.
  explicit Noise(std::string root = "") : root_(std::move(root)) {}

  // Those that this kernel has, except interrupts that it has refused to move, and what cannot be read.
  std::map<NoiseSource, CpuSet> observe();
  // Writes those that differ, and reads back. An interrupt that the kernel does not move stays where it is; Hardware
  // names the first other source that did not take its CPUs; the rest have theirs. A source that is gone is skipped.
  Result<void> converge(const std::map<NoiseSource, CpuSet>& wanted);
  // The same, but an interrupt that refuses is observed again, so that its CPUs can be restored later.
  Result<void> restore(const std::map<NoiseSource, CpuSet>& before);

 private:
  // False: the kernel does not move this interrupt.
  Result<bool> set(const NoiseSource& source, const CpuSet& cpus);

  std::string root_;
  std::set<uint32_t> immovable_;  // interrupts that were refused
};

}  // namespace nrd::cpuset
