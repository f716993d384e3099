// A workload: what a client asked for (Spec) and what nrd chose for it (Grant).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/way_mask.h"
#include "store/records.h"

namespace nrd {

using store::Time;

// Ways of each L3 cache the CPUs touch. max == min > 0 asks for the guarantee pool, max > min > 0 for best effort,
// 0/0 for the shared class.
struct CacheRequest {
  uint32_t max = 0;
  uint32_t min = 0;
  friend bool operator==(const CacheRequest&, const CacheRequest&) = default;
};

struct Spec {
  std::string uuid;                   // client's own name for it, unique; empty: none
  std::vector<std::string> core_ids;  // as the client wrote them
  CpuSet cpus;                        // the same, parsed
  CacheRequest cache;
  friend bool operator==(const Spec&, const Spec&) = default;
};

// What a PATCH names; the rest stays.
struct SpecPatch {
  std::optional<std::vector<std::string>> core_ids;  // set together with `cpus`
  std::optional<CpuSet> cpus;
  std::optional<uint32_t> max;
  std::optional<uint32_t> min;
};

enum class Pool { Guarantee, BestEffort, Shared };

struct Grant {
  Pool pool = Pool::Shared;
  ClosId clos;
  std::map<CacheId, WayMask> ways;  // only the caches its CPUs touch
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct Workload {
  WorkloadId id;
  Spec spec;
  Grant grant;
  Time created;
  Time updated;
  friend bool operator==(const Workload&, const Workload&) = default;
};

const char* to_string(Pool pool);  // "guarantee", "besteffort", "shared"
std::optional<Pool> parse_pool(std::string_view name);

store::WorkloadRecord to_record(const Workload& workload);
// ErrorCode::Store if a row makes no sense (unknown pool, CPU list that does not parse).
Result<Workload> from_record(const store::WorkloadRecord& record);

}  // namespace nrd
