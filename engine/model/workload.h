// A workload: the client's request (Spec) and what nrd allocated for it (Grant).
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/json/partial.h"
#include "base/origin.h"
#include "base/owner.h"
#include "base/task.h"
#include "base/way_mask.h"
#include "hw/cpuset/types.h"
#include "hw/pstate/types.h"
#include "hw/rdt/types.h"

namespace nrd {

// Ways of each L3 cache that the CPUs use. max == min > 0 requests a guarantee, max > min > 0 best effort, 0/0 the
// shared class.
struct CacheRequest {
  uint32_t max = 0;
  uint32_t min = 0;
  uint32_t code = 0;  // ways for code alone, the rest for data (CDP); 0: code and data share all
  friend bool operator==(const CacheRequest&, const CacheRequest&) = default;
};

// Ways of each L2 cache that the CPUs use, on a node that allocates L2 and L3. Always a guarantee: too few CPUs share
// an L2 cache for pools to be useful.
struct L2Request {
  uint32_t ways = 0;
  uint32_t code = 0;  // as in CacheRequest
  friend bool operator==(const L2Request&, const L2Request&) = default;
};

// Branch misses in percent of branch hits; more than 0. RMD's clients call it "ratio".
struct BranchMissThreshold {
  double percent = 0;
  friend bool operator==(const BranchMissThreshold&, const BranchMissThreshold&) = default;
};

// A frequency window for its CPUs. A single bound pins both.
struct FrequencyRequest {
  enum class Unit { Ratio, Mhz };  // as the client wrote it; a ratio is a multiple of the bus clock
  enum class SharedDomain {
    Refuse,  // CPUs outside the workload that share the domain
    Allow,
  };
  enum class Monitoring {
    On,
    Off,  // the threshold is kept, the CPUs are not monitored
  };
  Unit unit = Unit::Ratio;
  std::optional<uint32_t> min;
  std::optional<uint32_t> max;
  std::string governor;  // empty: unchanged
  std::string epp;       // energy_performance_preference; empty: unchanged
  bool turbo = true;     // false: not above the base frequency
  SharedDomain shared_domain = SharedDomain::Refuse;
  // Adaptive: each CPU runs at the upper or lower end of the window, as its branches say (plan/frequency_governor.h).
  std::optional<BranchMissThreshold> threshold{};
  Monitoring monitoring = Monitoring::On;
  // Otherwise its CPUs keep the window that they have.
  bool sets_window() const { return min || max || threshold || !turbo; }
  friend bool operator==(const FrequencyRequest&, const FrequencyRequest&) = default;
};

// Memory bandwidth of its class, in one of two units.
struct MbaRequest {
  enum class Unit { Percentage, Mbps };
  static constexpr uint32_t kMostPercent = 100;
  static constexpr uint32_t kMostMbps = 4294967290;  // RMD's limit; the kernel's own for "no limit" is 4294967295
  Unit unit = Unit::Percentage;
  uint32_t value = 0;
  friend bool operator==(const MbaRequest&, const MbaRequest&) = default;
};

// CPUs of a pool. One of count, cores and cpus is given for an exclusive pool, none of them for a shared one.
struct CpuRequest {
  std::string pool{};
  uint32_t count = 0;                         // logical CPUs
  uint32_t cores = 0;                         // whole cores, with all their threads
  CpuSet cpus{};                              // these CPUs
  uint32_t request_milli = 0;                 // of a shared pool: thousandths of a CPU, its share of the CPU time
  uint32_t limit_milli = 0;                   // of a shared pool: not more than this; 0: unlimited
  std::vector<std::string> near{};            // "node:1", "cpu:8", "eth1", "0000:17:00.0": preferred, the first most
  bool strict = false;                        // `near` is a requirement
  std::vector<std::string> apart{};           // ids of workloads that must not share a zone of `level`
  cpuset::Level level = cpuset::Level::Core;  // core, l3 or node
  CpuSet among{};                             // of a dry run: only of these; empty: of all
  // Who limits the tasks: nrd, or a container runtime, which reads the grant and writes the cpuset of the cgroup.
  enum class Enforce { Nrd, Runtime };
  Enforce enforce = Enforce::Nrd;
  // Near: only of the NUMA nodes of its CPUs.
  enum class Memory { Any, Near };
  Memory memory = Memory::Any;
  bool migrate = false;  // also of a target with processes, whose memory then moves in an operation
  friend bool operator==(const CpuRequest&, const CpuRequest&) = default;
};

// Onload for what runs in a workload: what the client asked for, and the generation that it was admitted to.
struct OnloadUse {
  std::vector<std::string> profiles;       // the first that sets a variable wins
  std::map<std::string, std::string> env;  // the client's own
  bool profiles_win = false;               // over what the client says
  uint64_t generation = 0;
  std::string version;
  friend bool operator==(const OnloadUse&, const OnloadUse&) = default;
};

// Chosen by clients to select workloads: {"team": "trading"}.
using Labels = std::map<std::string, std::string>;

// The workload ends with its unit or cgroup: when that has no process any more, or has none in time.
struct CgroupOwner {
  uint32_t within_seconds = 300;  // of the creation, or of `since`
  bool has_come = false;          // it has had a process; observed, not requested
  uint64_t usage_us = 0;          // CPU time that it had used then; observed, not requested
  Time since{};                   // when a PUT named it; at the epoch: with the creation
  friend bool operator==(const CgroupOwner&, const CgroupOwner&) = default;
};
inline constexpr uint32_t kLongestWithin = 86'400;

// At least one of cpu, cache, l2, frequency and Onload is requested.
struct Spec {
  std::string uuid;                   // chosen by the client, unique; empty: none
  std::vector<std::string> core_ids;  // as the client wrote them
  CpuSet cpus;                        // the same, parsed
  std::string policy;                 // policy that supplies the rest of the request; empty: none
  std::optional<CacheRequest> cache;
  std::optional<FrequencyRequest> frequency;
  std::optional<Owner> owner{};  // process whose exit deletes the workload; nullopt: none
  std::string given_id{};        // chosen by the client; empty: its number is its id
  // Admitted by engine/onload/allocations.h; the planner neither chooses nor checks any of it. Values set by profiles
  // are not kept.
  std::optional<OnloadUse> onload{};
  std::vector<Task> tasks{};  // tasks in addition to its CPUs, ordered by number; from this boot, or they have exited
  std::optional<MbaRequest> mba{};  // requires cache
  CpuSet task_cpus{};               // CPUs the tasks could run on when they were named: determines their caches
  std::string unit{};               // instead of tasks: what this unit of systemd runs, "feed.service"
  std::string cgroup{};             // likewise: what is in this cgroup and below, "/x/y"
  std::optional<CgroupOwner> cgroup_owner{};  // instead of owner; of a unit or cgroup
  std::optional<L2Request> l2{};
  std::string name{};  // chosen by the client, unique; empty: none
  Labels labels{};
  std::optional<CpuRequest> cpu{};         // instead of core_ids
  std::vector<CpuSet> near_cpus{};         // CPUs near each device of cpu->near, when it was requested
  std::vector<CpuRequest> further_cpus{};  // of other pools: only how many; the other members of `cpu` count for all
  bool runs_caller = false;                // its owner asked for its own CPUs, over a Unix socket (nrdctl run)
  // The user with the role `run` whose quota has its CPUs of pools; nullopt: no client with this role took them.
  std::optional<uid_t> quota_uid{};
  bool asks_for_ways() const { return cache || l2; }  // and therefore for a class of service
  bool has_group() const { return !unit.empty() || !cgroup.empty(); }
  friend bool operator==(const Spec&, const Spec&) = default;
};

// What a PATCH does to a part of a workload: nullopt keeps it, an inner nullopt removes it.
template <typename T>
using Change = std::optional<std::optional<T>>;

struct SpecPatch {
  std::string policy;  // empty: not given. A different policy replaces cache, memory bandwidth and frequency
  std::optional<std::vector<std::string>> core_ids;  // set together with `cpus`
  std::optional<CpuSet> cpus;
  Change<json::Partial<CacheRequest>> cache{};  // keeps the members that are not given
  Change<json::Partial<L2Request>> l2{};        // likewise
  Change<MbaRequest> mba{};
  Change<FrequencyRequest> frequency{};
  Change<OnloadUse> onload{};
  // Likewise; another number replaces count, cores, cpus and request_milli. Set together with `near_cpus`.
  Change<json::Partial<CpuRequest>> cpu{};
  std::vector<CpuSet> near_cpus{};
  std::optional<std::vector<CpuRequest>> further_cpus{};  // with `cpu`, both of which then replace what there was
  std::optional<std::vector<Task>> tasks{};               // set together with `task_cpus`; empty: removes all
  CpuSet task_cpus{};
  std::optional<std::string> name{};                                   // empty: removes it
  Change<std::map<std::string, std::optional<std::string>>> labels{};  // keeps those not given; nullopt removes one
};

// `spec` after the patch, apart from its policy.
Spec patched(Spec spec, const SpecPatch& patch);
// True if both request the same resources: only names and labels differ.
bool requests_same(Spec a, Spec b);

enum class Pool {
  None,       // no ways requested: no class
  Guarantee,  // also for workloads that request L2 alone
  BestEffort,
  Shared,
};

// What was chosen, once. Where its tasks may run follows from it (engine/model/cpu_sets.h).
struct CpuGrant {
  std::string pool{};
  CpuSet exclusive{};                  // of this workload alone; empty in a shared pool
  CpuSet idle_siblings{};              // threads of the same cores, which no workload gets
  std::string zone{};                  // smallest zone with all of them: "node 0, l3 1"
  cpuset::MemoryNodes memory_nodes{};  // of its CPUs
  bool has_scope = false;              // its owner runs in a scope of systemd
  std::string reason{};                // why these: "nearest to eth1; then smallest remainder in an L3"
  friend bool operator==(const CpuGrant&, const CpuGrant&) = default;
};

struct Grant {
  Pool pool = Pool::None;
  ClosId clos;                      // meaningless without a pool
  std::map<CacheId, WayMask> ways;  // only the caches of its CPUs and tasks, of each level requested
  std::map<CpuId, pstate::FrequencySetting> frequencies;  // of its CPUs; governor and epp are empty where unchanged
  std::map<CacheId, rdt::Bandwidth> bandwidth{};          // on the L3 caches of `ways`; empty: not limited
  std::optional<CpuGrant> cpu{};                          // of all its pools; `pool`, `zone` and `reason` of the first
  std::vector<CpuGrant> cpu_by_pool{};                    // in the order of the requests, if there are several
  bool has_class() const { return pool != Pool::None; }
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct Workload {
  WorkloadId id;
  Spec spec;
  Grant grant;
  Time created;
  Time updated;
  std::string origin = kOriginRest;
  uint64_t revision = 1;  // grows by one with each change
  friend bool operator==(const Workload&, const Workload&) = default;
};

// Its ways do not exist on this node any more, and it has got no others yet.
inline bool lacks_ways(const Workload& workload) {
  return workload.spec.asks_for_ways() && !workload.grant.has_class();
}

// The CPUs that `workload` alone uses: granted from a pool, or requested as core_ids.
inline const CpuSet& cpus_of(const Workload& workload) {
  return workload.grant.cpu ? workload.grant.cpu->exclusive : workload.spec.cpus;
}
inline constexpr size_t kMostCpuPools = 8;  // of a workload
// One for each pool.
std::vector<const CpuRequest*> cpu_requests_of(const Spec& spec);
std::span<const CpuGrant> cpu_grants_of(const Workload& workload);
// True if a container runtime limits its tasks, so that nrd writes nothing for them.
inline bool is_enforced_by_runtime(const Workload& workload) {
  return workload.spec.cpu && workload.spec.cpu->enforce == CpuRequest::Enforce::Runtime;
}
// The same with the siblings that are kept idle for it: no other workload gets these.
CpuSet reserved_cpus_of(const Workload& workload);

// Whether its ways on `cache` are those of its request for L2 beside L3, not those of `cache` in the request.
bool is_of_l2(const Workload& workload, CacheId cache);
// The code and data parts of the ways granted on `cache`; nullopt: both share all of them.
std::optional<rdt::Split> split_of(const Workload& workload, CacheId cache);

// As clients know it: the id they chose, or the number.
std::string id_text(const Workload& workload);

const char* to_string(Pool pool);  // "none", "guarantee", "besteffort", "shared"

}  // namespace nrd
