// /sys/devices/system/{cpu,node} of a machine, as x86 kernels show it: CPU 0 has no `online` file, and the folders
// `topology` and `cache` of a CPU are there only while it is online. Node n is socket n.
#pragma once

#include <functional>

#include "file_map.h"
#include "machine.h"

namespace nrd::simnode {

using Hotplug = std::function<int(int cpu, bool online)>;

void add_sysfs(const Machine& machine, const Hotplug& hotplug, FileMap& files);

}  // namespace nrd::simnode
