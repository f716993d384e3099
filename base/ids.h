// Distinct types for ids. An id is compared and printed, never calculated with.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <tuple>

namespace nrd {

struct CpuId {  // logical CPU, as in /sys/devices/system/cpu/cpuN
  uint32_t value = 0;
  friend auto operator<=>(const CpuId&, const CpuId&) = default;
};

// For messages: "CPU 4".
inline std::string text_of(CpuId cpu) { return "CPU " + std::to_string(cpu.value); }

struct CacheId {
  unsigned level = 3;  // 2 or 3
  uint32_t value = 0;  // as the kernel numbers the caches of that level: neither dense nor in socket order
  // L3 before L2.
  friend auto operator<=>(const CacheId& a, const CacheId& b) {
    return std::tie(b.level, a.value) <=> std::tie(a.level, b.value);
  }
  friend bool operator==(const CacheId&, const CacheId&) = default;
};

// For messages: "cache 0", "L2 cache 0".
inline std::string text_of(CacheId cache) {
  return (cache.level == 2 ? "L2 cache " : "cache ") + std::to_string(cache.value);
}

struct ClosId {  // class of service; 0 is the root group of resctrl, n is the directory COSn
  uint32_t value = 0;
  friend auto operator<=>(const ClosId&, const ClosId&) = default;
};
inline constexpr ClosId kRootClass{0};

// The name of its directory.
inline std::string text_of(ClosId clos) { return "COS" + std::to_string(clos.value); }

struct WorkloadId {  // never reused, so an id that a client remembers never denotes another workload
  uint64_t value = 0;
  friend auto operator<=>(const WorkloadId&, const WorkloadId&) = default;
};

}  // namespace nrd
