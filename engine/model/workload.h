// A workload: what a client asked for (Spec) and what nrd chose for it (Grant).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/task.h"
#include "base/way_mask.h"
#include "hw/pstate/types.h"
#include "hw/rdt/types.h"
#include "store/records.h"

namespace nrd {

using store::Time;

// Ways of each L3 cache the CPUs touch. max == min > 0 asks for the guarantee pool, max > min > 0 for best effort,
// 0/0 for the shared class.
struct CacheRequest {
  uint32_t max = 0;
  uint32_t min = 0;
  uint32_t code = 0;  // so many of them are code's alone, and the others data's (CDP); 0: code and data share all
  friend bool operator==(const CacheRequest&, const CacheRequest&) = default;
};

// Ways of each L2 cache the CPUs touch, on a node that allocates these beside L3. A guarantee: an L2 cache has so few
// CPUs that pools of it would be of no use.
struct L2Request {
  uint32_t ways = 0;
  uint32_t code = 0;  // as with CacheRequest
  friend bool operator==(const L2Request&, const L2Request&) = default;
};

// Branch misses in percent of branch hits; more than 0. RMD's clients call it "ratio".
struct BranchMissThreshold {
  double percent = 0;
  friend bool operator==(const BranchMissThreshold&, const BranchMissThreshold&) = default;
};

// A window for the frequency of its CPUs. One bound alone pins both.
struct FrequencyRequest {
  enum class Unit { Ratio, Mhz };  // as the client wrote it; a ratio is a multiple of the bus clock
  enum class SharedDomain {
    Refuse,  // CPUs of others that change along
    Allow,
  };
  Unit unit = Unit::Ratio;
  std::optional<uint32_t> min;
  std::optional<uint32_t> max;
  std::string governor;  // empty: as it is
  std::string epp;       // energy_performance_preference; empty: as it is
  bool turbo = true;     // false: nothing above the base frequency
  SharedDomain shared_domain = SharedDomain::Refuse;
  // Adaptive: each CPU runs at the upper or the lower end of the window, as its branches say (plan/branch_control.h).
  std::optional<BranchMissThreshold> threshold{};
  bool is_monitored = true;  // false: the threshold is kept, and the CPUs are left alone
  friend bool operator==(const FrequencyRequest&, const FrequencyRequest&) = default;
};

// Memory bandwidth of its class, in one of two units.
struct MbaRequest {
  enum class Unit { Percentage, Mbps };
  Unit unit = Unit::Percentage;
  uint32_t value = 0;
  friend bool operator==(const MbaRequest&, const MbaRequest&) = default;
};

// At least one of cache, l2, frequency and Onload is asked for.
struct Spec {
  std::string uuid;                   // client's own name for it, unique; empty: none
  std::vector<std::string> core_ids;  // as the client wrote them
  CpuSet cpus;                        // the same, parsed
  std::string policy;                 // by whose name the rest was asked for; empty: none
  std::optional<CacheRequest> cache;
  std::optional<FrequencyRequest> frequency;
  std::optional<store::Owner> owner{};  // the process with which it ends; nullopt: it stays until it is deleted
  std::string given_id{};               // that the client chose; empty: its number is its id
  // Admitted by engine/onload/allocations.h before it comes here, nothing of it is chosen or checked by the planner.
  // What the profiles set is not kept.
  std::optional<store::OnloadUse> onload{};
  std::vector<Task> tasks{};  // whom it is for besides its CPUs, ordered by number; of this boot, or they have ended
  std::optional<MbaRequest> mba{};  // beside cache
  CpuSet task_cpus{};               // where these might run when they were named: whose caches they touch
  std::optional<L2Request> l2{};
  bool asks_for_ways() const { return cache || l2; }  // and so for a class of service
  friend bool operator==(const Spec&, const Spec&) = default;
};

// What a PATCH names; the rest stays.
struct SpecPatch {
  std::string policy;  // empty: none is named. Another than before fills cache and frequency anew
  std::optional<std::vector<std::string>> core_ids;  // set together with `cpus`
  std::optional<CpuSet> cpus;
  std::optional<uint32_t> max;
  std::optional<uint32_t> min;
  std::optional<uint32_t> code;
  bool without_cache = false;  // takes it away; then none of these is named
  // Set: replaces the whole request; an inner nullopt takes it away.
  std::optional<std::optional<FrequencyRequest>> frequency;
  std::optional<std::optional<store::OnloadUse>> onload{};  // likewise
  std::optional<std::vector<Task>> tasks{};                 // set together with `task_cpus`; empty: none any more
  CpuSet task_cpus{};
  std::optional<std::optional<MbaRequest>> mba{};  // an inner nullopt takes it away
  std::optional<uint32_t> l2_ways{};
  std::optional<uint32_t> l2_code{};
  bool without_l2 = false;  // takes it away; then neither of these is named
};

enum class Pool {
  None,       // no ways were asked for: no class
  Guarantee,  // also who asks for L2 alone
  BestEffort,
  Shared,
};

struct Grant {
  Pool pool = Pool::None;
  ClosId clos;                      // means nothing without a pool
  std::map<CacheId, WayMask> ways;  // only the caches its CPUs and tasks touch, of each level asked for
  std::map<CpuId, pstate::FrequencySetting>
      frequencies;                                // of its CPUs; governor and epp are empty where they stay as they are
  std::map<CacheId, rdt::Bandwidth> bandwidth{};  // on those of `ways` that are not L2 beside; empty: not limited
  bool has_class() const { return pool != Pool::None; }
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct Workload {
  WorkloadId id;
  Spec spec;
  Grant grant;
  Time created;
  Time updated;
  std::string origin = "REST";  // who created it; others than REST come from an import
  uint64_t revision = 1;        // grows by one with each change
  friend bool operator==(const Workload&, const Workload&) = default;
};

// Of the ways that were granted on `cache`, code's and data's; nullopt: they share them.
std::optional<rdt::Split> split_of(const Workload& workload, CacheId cache);

// As clients know it: the id they chose, or the number.
std::string id_text(const Workload& workload);

std::vector<store::BandwidthRecord> to_records(const std::map<CacheId, rdt::Bandwidth>& bandwidth);
// Without those whose unit makes no sense.
std::map<CacheId, rdt::Bandwidth> bandwidth_of(const std::vector<store::BandwidthRecord>& records);

const char* to_string(Pool pool);  // "none", "guarantee", "besteffort", "shared"
std::optional<Pool> parse_pool(std::string_view name);

std::vector<store::FrequencyRecord> to_records(const std::map<CpuId, pstate::FrequencySetting>& frequencies);
std::map<CpuId, pstate::FrequencySetting> frequencies_of(const std::vector<store::FrequencyRecord>& records);
store::WorkloadRecord to_record(const Workload& workload);
// ErrorCode::Store if a row makes no sense (unknown pool, CPU list that does not parse).
Result<Workload> from_record(const store::WorkloadRecord& record);

}  // namespace nrd
