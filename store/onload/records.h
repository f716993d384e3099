// What is kept of Onload: wishes (generations), the operations that followed from them, and whether all is frozen.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/owner.h"

namespace nrd::store {

struct OnloadGenerationRecord {
  using Time = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC
  uint64_t number = 0;
  std::string state;    // "unmanaged", "unloaded", "loaded"
  std::string version;  // empty unless loaded
  std::string sfc;      // "external", "managed"
  std::string users;    // "fail", "wait", "term", "kill"
  std::chrono::seconds drain{0};
  std::string on_failure;                                                // "rollback", "stop"
  std::map<std::string, std::map<std::string, std::string>> parameters;  // module -> name -> value
  std::vector<std::string> control_plane;                                // words, in order
  Time created;
  std::string verdict;  // "pending", "verified", "failed"
  std::optional<Time> verified;
  friend bool operator==(const OnloadGenerationRecord&, const OnloadGenerationRecord&) = default;
};

struct OnloadStepRecord {
  using Time = OnloadGenerationRecord::Time;
  std::string act;
  std::string subject;
  std::string progress;  // "running", "done", "failed", "interrupted"
  Time started;
  std::optional<Time> finished;
  std::string cause;
  std::string message;
  std::string kernel;  // lines
  friend bool operator==(const OnloadStepRecord&, const OnloadStepRecord&) = default;
};

struct OnloadNotedInterfaceRecord {
  std::string pci;  // empty: not on PCI
  std::string mac;
  std::string name;
  friend bool operator==(const OnloadNotedInterfaceRecord&, const OnloadNotedInterfaceRecord&) = default;
};

struct OnloadOperationRecord {
  using Time = OnloadGenerationRecord::Time;
  uint64_t id = 0;
  uint64_t generation = 0;
  std::optional<uint64_t> fallback;
  std::string outcome;  // "running", "succeeded", "rolled_back", "failed"
  Time started;
  std::optional<Time> finished;
  std::string cause;
  std::string message;
  std::vector<OnloadStepRecord> steps;
  std::string errand = "change";  // "change", "drain", "undrain", "restart_control_plane"
  std::string users = "fail";     // of a drain, as in OnloadGenerationRecord
  std::chrono::seconds drain{0};
  std::vector<OnloadNotedInterfaceRecord> interfaces;  // ordered by name
  friend bool operator==(const OnloadOperationRecord&, const OnloadOperationRecord&) = default;
};

// Something to start an application with; what it was given to set is not kept.
struct OnloadAllocationRecord {
  using Time = OnloadGenerationRecord::Time;
  uint64_t id = 0;
  Owner owner;
  uint64_t generation = 0;
  std::string version;
  Time created;
  friend bool operator==(const OnloadAllocationRecord&, const OnloadAllocationRecord&) = default;
};

// What is wanted of a network interface; nullopt: nothing was said.
struct OnloadInterfaceRecord {
  std::string pci;  // empty: not on PCI
  std::string mac;
  std::optional<bool> accelerated;
  std::optional<bool> registered;
  friend bool operator==(const OnloadInterfaceRecord&, const OnloadInterfaceRecord&) = default;
};

struct OnloadRecords {
  bool frozen = false;
  std::string reason;
  bool drained = false;
  std::vector<OnloadGenerationRecord> generations;  // ordered by number
  std::vector<OnloadOperationRecord> operations;    // ordered by id
  std::vector<OnloadAllocationRecord> allocations;  // ordered by id
  std::vector<OnloadInterfaceRecord> interfaces;    // ordered by pci and mac
  friend bool operator==(const OnloadRecords&, const OnloadRecords&) = default;
};

// Part of one transaction.
struct OnloadChange {
  std::optional<std::pair<bool, std::string>> freeze;
  std::optional<bool> drained;
  std::vector<OnloadGenerationRecord> generations;  // new, or replaces the one with the same number whole
  std::vector<OnloadOperationRecord> operations;    // the same by id
  std::vector<uint64_t> removed_generations;
  std::vector<uint64_t> removed_operations;
  std::vector<OnloadAllocationRecord> allocations;  // new
  std::vector<uint64_t> removed_allocations;
  std::vector<OnloadInterfaceRecord> interfaces;  // new, or replaces the one with the same pci and mac
};

}  // namespace nrd::store
