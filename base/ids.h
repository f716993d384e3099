// Numbers that must never mix. An id is compared and printed, never calculated with.
#pragma once

#include <compare>
#include <cstdint>

namespace nrd {

struct CpuId {  // logical CPU, as in /sys/devices/system/cpu/cpuN
  uint32_t value = 0;
  friend auto operator<=>(const CpuId&, const CpuId&) = default;
};

struct CacheId {  // id of an L3 cache as the kernel numbers it: neither dense nor in socket order
  uint32_t value = 0;
  friend auto operator<=>(const CacheId&, const CacheId&) = default;
};

struct ClosId {  // class of service; 0 is the root group of resctrl, n is the directory COSn
  uint32_t value = 0;
  friend auto operator<=>(const ClosId&, const ClosId&) = default;
};

struct WorkloadId {  // never reused, so a client that remembers one never touches somebody else's workload
  uint64_t value = 0;
  friend auto operator<=>(const WorkloadId&, const WorkloadId&) = default;
};

}  // namespace nrd
