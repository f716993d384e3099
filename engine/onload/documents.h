// What is stored of Onload, and a change of it. The store keeps a JSON document for each generation, operation,
// allocation and so on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/origin.h"
#include "base/owner.h"
#include "base/result.h"
#include "engine/onload/spec.h"
#include "store/records.h"

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
  // Of the store. No id of an allocation exceeds it, since each was given in a commit of its own.
  uint64_t revision = 0;
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

store::DocumentChange to_documents(const Change& change);
// ErrorCode::Store if a document does not fit. Kinds that this version does not know are skipped and stay stored.
Result<Stored> from_documents(const std::vector<store::Document>& documents);

}  // namespace nrd::onload
