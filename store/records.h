// The stored data as rows. What is never asked for in SQL is in a JSON document, which the store does not look into.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace nrd::store {

struct WorkloadRow {
  WorkloadId id;
  std::string uuid;        // unique; empty: none
  std::string given_id;    // chosen by the client, unique; empty: its number is its id
  uint64_t revision = 1;   // grows by one with each change
  std::string origin;      // "REST"
  std::string document{};  // an object: everything else
  friend bool operator==(const WorkloadRow&, const WorkloadRow&) = default;
};

// The idempotency key of a creation, so that a retry does not create another workload.
struct IdempotencyRecord {
  std::string key;
  std::string request_hash;  // of the body
  WorkloadId workload;       // may have been deleted since
  Time created;
  friend bool operator==(const IdempotencyRecord&, const IdempotencyRecord&) = default;
};

// One of a kind, with a key of its own: a baseline, an operation.
struct DocumentId {
  std::string kind;
  std::string key;
  friend auto operator<=>(const DocumentId&, const DocumentId&) = default;
};
struct Document {
  DocumentId id;
  std::string json;
  friend bool operator==(const Document&, const Document&) = default;
};

// The complete content of the store.
struct Records {
  uint64_t revision = 0;                // grows by one with each commit
  uint64_t next_id = 1;                 // the next workload's id; never goes back
  std::vector<WorkloadRow> workloads;   // ordered by id
  std::vector<IdempotencyRecord> keys;  // oldest first
  std::string boot_id;                  // of the boot the baselines were read in; they are useless in another boot
  std::vector<Document> baselines;      // ordered by kind and key
  std::vector<Document> operations;     // and what they have done; ordered likewise
  friend bool operator==(const Records&, const Records&) = default;
};

// A new row is added. A row that exists is merged with the new one (RFC 7396, JSON Merge Patch), so that members which
// another version of nrd wrote stay; a member that is null is removed.
struct DocumentChange {
  std::vector<DocumentId> removed;  // first
  std::vector<Document> put;
};

// One transaction.
struct Change {
  uint64_t next_id = 1;
  std::vector<WorkloadId> removed;          // first
  std::vector<WorkloadRow> put;             // documents as in DocumentChange
  std::vector<IdempotencyRecord> keys;      // added
  std::vector<std::string> forgotten_keys;  // deleted before new ones are added
  std::string new_boot_id;                  // deletes all baselines first; empty: keeps them
  DocumentChange baselines;
  DocumentChange operations;
};

}  // namespace nrd::store
