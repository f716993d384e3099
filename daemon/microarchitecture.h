// The microarchitecture name of a CPU as in policy files: "skylake", "ice lake", "zen 4".
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/cpuinfo.h"

namespace nrd::daemon {

// Family and model to name, from RMD's cpu_map.toml.
using CpuMap = std::map<std::pair<unsigned, unsigned>, std::string>;

// Entries of `map` take precedence over built-in ones; empty if the CPU is unknown.
std::string microarchitecture_of(const Part& part, const CpuMap& map);

}  // namespace nrd::daemon
