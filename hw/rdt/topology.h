// CPUs and L3 caches as /sys/devices/system/cpu shows them.
#pragma once

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// Fills possible, online, caches and sockets of a Node; the rest is left as it is.
Result<Node> read_topology();

}  // namespace nrd::rdt
