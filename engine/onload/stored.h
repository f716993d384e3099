// What is stored of Onload, and a change of it. record.h converts both for the store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/origin.h"
#include "base/owner.h"
#include "base/result.h"
#include "engine/onload/spec.h"

namespace nrd::onload {

// Something to start an application with; its environment is not stored.
struct Allocation {
  uint64_t id = 0;
  Owner owner;
  uint64_t generation = 0;
  std::string version;
  Time created;
  std::string origin = kOriginRest;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct Stored {
  Freeze freeze;
  bool drained = false;                 // device access stays closed until an undrain
  std::vector<Generation> generations;  // ordered by number
  std::vector<Operation> operations;    // ordered by id
  std::vector<Allocation> allocations;  // ordered by id
  std::vector<InterfaceSpec> interfaces;
  friend bool operator==(const Stored&, const Stored&) = default;
};

// Part of one transaction.
struct Change {
  std::optional<Freeze> freeze;
  std::optional<bool> drained;
  std::vector<Generation> generations;  // new, or replaces the one with the same number
  std::vector<Operation> operations;    // the same by id
  std::vector<uint64_t> removed_generations;
  std::vector<uint64_t> removed_operations;
  std::vector<Allocation> allocations;        // new, or replaces the one with the same id
  std::vector<uint64_t> removed_allocations;  // never one of `allocations`
  std::vector<InterfaceSpec> interfaces;      // new, or replaces the one with the same pci and mac
};

// Blocks until the change is stored or has failed.
using CommitFn = std::function<Result<void>(const Change&)>;

}  // namespace nrd::onload
