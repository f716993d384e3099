// Distinct types for ids. An id is compared and printed, never calculated with.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace nrd {

struct CpuId {  // logical CPU, as in /sys/devices/system/cpu/cpuN
  uint32_t value = 0;
  friend auto operator<=>(const CpuId&, const CpuId&) = default;
};

struct CacheId {  // id of an L3 cache (L2 on parts without L3) as the kernel numbers it: neither dense nor in socket
                  // order
  uint32_t value = 0;
  bool is_secondary_l2 = false;  // an L2 cache on a node that also allocates L3; each level has its own numbers
  friend auto operator<=>(const CacheId&, const CacheId&) = default;
};

// For messages: "cache 0", "L2 cache 0".
inline std::string text_of(CacheId cache) {
  return (cache.is_secondary_l2 ? "L2 cache " : "cache ") + std::to_string(cache.value);
}

struct ClosId {  // class of service; 0 is the root group of resctrl, n is the directory COSn
  uint32_t value = 0;
  friend auto operator<=>(const ClosId&, const ClosId&) = default;
};

// The name of its directory.
inline std::string text_of(ClosId clos) { return "COS" + std::to_string(clos.value); }

struct WorkloadId {  // never reused, so an id that a client remembers never denotes another workload
  uint64_t value = 0;
  friend auto operator<=>(const WorkloadId&, const WorkloadId&) = default;
};

}  // namespace nrd
