// What kind of CPU this is, in the words of policy files: "skylake", "ice lake", "zen 4".
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/cpuinfo.h"

namespace nrd::daemon {

// Family and model to name, from RMD's cpu_map.toml.
using CpuMap = std::map<std::pair<unsigned, unsigned>, std::string>;

// Those of `map` go before those known here; empty for a part that neither names.
std::string microarchitecture_of(const Part& part, const CpuMap& map);

}  // namespace nrd::daemon
