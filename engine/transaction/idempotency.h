// Idempotency keys of created workloads: a client that got no response can retry and gets the existing workload instead
// of a second one.
//
// A key is stored in the same commit as its workload and outlives it: a late retry, after the workload was deleted,
// creates nothing. Keys are kept for a day, at most kMostKeys of them; beyond that the client that has most loses its
// oldest, so that no client makes nrd forget the keys of others. Engine thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "store/records.h"

namespace nrd {

struct IdempotencyKey;

class Idempotency {
 public:
  static constexpr size_t kMostKeys = 4096;
  static constexpr std::chrono::hours kKeptFor{24};

  void load(std::vector<store::IdempotencyRecord> records);
  // The workload created with this key. KeyReused if the key belongs to another request.
  Result<std::optional<WorkloadId>> find(const IdempotencyKey& key, Time now) const;

  // Keys of the current batch: found at once, kept if its commit is done.
  void add(const IdempotencyKey& key, WorkloadId workload, Time now);
  bool has_added() const { return !added_.empty(); }
  void write_to(store::Change& change, Time now);
  void keep_added(Time now);
  void drop_added() { added_.clear(); }

 private:
  struct Kept {
    store::IdempotencyRecord record;
    std::string client;
  };

  // Of those from the first on that stay.
  std::string_view client_with_most(size_t first) const;
  // Puts the kept keys that expired or must make room for the added ones before the others; returns how many.
  size_t put_leaving_first(Time now);

  std::vector<Kept> kept_;  // oldest first
  std::vector<Kept> added_;
};

}  // namespace nrd
