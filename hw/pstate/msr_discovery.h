// Discovers CPUs without a cpufreq driver that can be set through their registers.
//
// The threads of a core run at one frequency, the highest requested by any of them. So they form one domain here; under
// a driver, the driver reports the domains.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

// What earlier discoveries found.
struct KnownRegisters {
  std::map<CpuId, CpuSet> threads;              // of each core: the kernel reports only the online ones
  std::map<CpuId, std::optional<Cpu>> of_cpus;  // read once, since reading interrupts the CPU; nullopt: none is known
};

// Adds the settable CPUs among `cpus` to `node`, and the reasons for the others.
void discover_without_driver(const std::string& root, const CpuSet& cpus, KnownRegisters& known, Node& node);

}  // namespace nrd::pstate
