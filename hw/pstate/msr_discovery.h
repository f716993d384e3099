// Discovers CPUs without a cpufreq driver that can be set through their registers.
//
// The threads of a core run at one frequency, the highest requested by any of them. So they form one domain here; under
// a driver, the driver reports the domains.
#pragma once

#include <map>
#include <string>

#include "base/cpu_set.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

// Adds the settable CPUs among `cpus` to `node`, and the reasons for the others. The kernel reports only the online
// threads of a core, so `known` holds earlier results; returns the updated ones.
std::map<CpuId, CpuSet> discover_without_driver(const std::string& root, const CpuSet& cpus,
                                                std::map<CpuId, CpuSet> known, Node& node);

}  // namespace nrd::pstate
