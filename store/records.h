// The stored data as rows. The store knows neither pools nor planners.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/task.h"
#include "base/units.h"
#include "base/way_mask.h"
#include "store/onload/records.h"
#include "store/onload/use.h"
#include "store/owner.h"

namespace nrd::store {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC

// A requested frequency window.
struct FrequencyRequestRecord {
  std::string unit;  // "ratio", "mhz"
  std::optional<uint32_t> min;
  std::optional<uint32_t> max;
  std::string governor;  // empty: not requested
  std::string epp;
  bool turbo = true;
  bool allows_shared_domain = false;
  std::optional<double> threshold;  // branch misses in percent of hits
  bool is_monitored = true;
  friend bool operator==(const FrequencyRequestRecord&, const FrequencyRequestRecord&) = default;
};

// The granted frequency of one CPU, or its setting before nrd's first write in this boot.
struct FrequencyRecord {
  CpuId cpu;
  KHz min;
  KHz max;
  std::string governor;
  std::string epp;
  friend bool operator==(const FrequencyRecord&, const FrequencyRecord&) = default;
};

// A limit on one cache, in the kernel's own unit: "percent", "mbps", "eighths_of_gbps".
struct BandwidthRecord {
  CacheId cache;
  std::string unit;
  uint32_t value = 0;
  friend bool operator==(const BandwidthRecord&, const BandwidthRecord&) = default;
};

struct WorkloadRecord {
  WorkloadId id;
  std::string uuid;                   // empty: none
  std::string given_id;               // chosen by the client; empty: its number is its id
  uint64_t revision = 1;              // grows by one with each change
  std::string origin;                 // "REST"
  std::vector<std::string> core_ids;  // as the client wrote them, in order
  std::string policy;                 // policy that supplies the rest of the request; empty: none
  uint32_t max_ways = 0;              // requested; both are 0 without a pool
  uint32_t min_ways = 0;
  uint32_t code_ways = 0;     // of these for code alone; 0: code and data share them
  uint32_t l2_ways = 0;       // requested for L2 caches where L3 is allocated too; 0: none
  uint32_t l2_code_ways = 0;  // of these for code alone
  std::string pool;           // granted: "none", "guarantee", "besteffort", "shared"
  ClosId clos;
  std::map<CacheId, WayMask> ways;  // granted, only the caches its CPUs touch
  std::optional<FrequencyRequestRecord> frequency;
  std::vector<FrequencyRecord> frequencies;  // granted, ordered by CPU
  std::optional<Owner> owner;                // nullopt: it stays until deleted
  std::optional<OnloadUse> onload{};         // nullopt: it does not use Onload
  std::string mba_unit{};                    // requested: "percentage", "mbps"; empty: nothing
  uint32_t mba_value = 0;
  std::vector<BandwidthRecord> bandwidth{};  // granted, ordered by cache
  std::vector<Task> tasks{};                 // tasks in addition to its CPUs, ordered by number
  std::string task_cpus{};                   // CPUs the tasks could run on when they were named; empty: no tasks
  Time created;
  Time updated;
  friend bool operator==(const WorkloadRecord&, const WorkloadRecord&) = default;
};

// The idempotency key of a creation, so that a retry does not create another workload.
struct IdempotencyRecord {
  std::string key;
  std::string request_hash;  // of the body
  WorkloadId workload;       // may have been deleted since
  Time created;
  friend bool operator==(const IdempotencyRecord&, const IdempotencyRecord&) = default;
};

// The value of a setting before nrd's first write in this boot.
struct WaysBaseline {
  ClosId clos;
  CacheId cache;
  WayMask ways;
  friend bool operator==(const WaysBaseline&, const WaysBaseline&) = default;
};
struct CpuBaseline {
  CpuId cpu;
  ClosId clos;
  friend bool operator==(const CpuBaseline&, const CpuBaseline&) = default;
};
struct BandwidthBaseline {
  ClosId clos;
  BandwidthRecord limit;
  friend bool operator==(const BandwidthBaseline&, const BandwidthBaseline&) = default;
};
// A task that was moved into a class, and must be moved back.
struct TaskClaim {
  Task task;
  ClosId clos;
  friend auto operator<=>(const TaskClaim&, const TaskClaim&) = default;
};
struct Baselines {
  std::string boot_id;                       // of the boot they were read in; useless in another boot
  std::vector<WaysBaseline> ways;            // ordered by class, cache; secondary L2 caches last
  std::vector<CpuBaseline> cpus;             // ordered by CPU
  std::vector<FrequencyRecord> frequencies;  // ordered by CPU
  // For some of these: the value that other software wrote since, to restore instead. Ordered by CPU.
  std::vector<FrequencyRecord> frequencies_of_others{};
  std::vector<TaskClaim> tasks{};              // ordered
  std::vector<BandwidthBaseline> bandwidth{};  // ordered by class, cache
  std::vector<ClosId> groups{};                // made by nrd; ordered
  friend bool operator==(const Baselines&, const Baselines&) = default;
};

// The complete content of the store.
struct Records {
  uint64_t revision = 0;                  // grows by one with each commit
  uint64_t next_id = 1;                   // the next workload's id; never goes back
  std::vector<WorkloadRecord> workloads;  // ordered by id
  std::vector<IdempotencyRecord> keys;    // oldest first
  Baselines baselines;
  OnloadRecords onload;
  friend bool operator==(const Records&, const Records&) = default;
};

// One transaction.
struct Change {
  uint64_t next_id = 1;
  std::vector<WorkloadRecord> put;  // new, or replaces the one with the same id whole
  std::vector<WorkloadId> removed;
  std::vector<IdempotencyRecord> keys;      // added
  std::vector<std::string> forgotten_keys;  // deleted before new ones are added
  // Baselines of a new boot: deletes all old ones first. Empty: keeps the existing ones.
  std::string new_boot_id;
  std::vector<WaysBaseline> ways_baselines;          // added
  std::vector<CpuBaseline> cpu_baselines;            // added
  std::vector<FrequencyRecord> frequency_baselines;  // added
  std::vector<CpuId>
      dropped_frequency_baselines;  // deleted before new ones are added, with the values of other software
  std::vector<FrequencyRecord> frequencies_of_others;  // added, or replaces the one of the same CPU
  std::vector<CpuId> dropped_frequencies_of_others;
  std::vector<BandwidthBaseline> bandwidth_baselines;  // added
  std::vector<TaskClaim> task_claims;                  // added
  std::vector<TaskClaim> dropped_task_claims;          // deleted before new ones are added
  std::vector<ClosId> group_claims;                    // added
  std::vector<ClosId> dropped_group_claims;            // deleted before new ones are added
  OnloadChange onload;
};

}  // namespace nrd::store
