// Finding CPUs that no cpufreq driver holds and that can be set through their registers.
//
// The threads of a core run at one frequency, the highest that any of them asks for. So they are one domain here,
// unlike under a driver, which tells its domains itself.
#pragma once

#include <map>
#include <string>

#include "base/cpu_set.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

// Adds those of `cpus` that can be set to `node`, and why the others cannot. The kernel tells the online threads of a
// core only, so `known` is what was learned before; the answer is what is known now.
std::map<CpuId, CpuSet> discover_without_driver(const std::string& root, const CpuSet& cpus,
                                                std::map<CpuId, CpuSet> known, Node& node);

}  // namespace nrd::pstate
