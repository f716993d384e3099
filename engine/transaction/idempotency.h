// Keys under which workloads were created, so that a client who heard no answer may ask again and gets the workload it
// has, not a second one.
//
// A key is stored in the one commit that stores its workload, and outlives it: what comes late, after the workload was
// deleted, creates nothing either. Keys are kept for a day, kMostKeys of them at most, the oldest go first. Engine
// thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/records.h"

namespace nrd {

struct IdempotencyKey {
  std::string key;
  std::string hash_of;  // of the request: the same key with another one is a mistake of the client
};

class Idempotency {
 public:
  static constexpr size_t kMostKeys = 4096;
  static constexpr std::chrono::hours kKeptFor{24};

  void load(std::vector<store::IdempotencyRecord> records);
  // The workload that was created under this key. KeyReused if that was for another request.
  Result<std::optional<WorkloadId>> find(const IdempotencyKey& key, store::Time now) const;

  // Those of a batch: found at once, kept if its commit is done.
  void add(const IdempotencyKey& key, WorkloadId workload, store::Time now);
  bool has_added() const { return !added_.empty(); }
  void write_to(store::Change& change, store::Time now) const;
  void keep_added(store::Time now);
  void drop_added() { added_.clear(); }

 private:
  // Of those that are kept, how many have to go when the added ones come.
  size_t leaving(store::Time now) const;

  std::vector<store::IdempotencyRecord> kept_;  // oldest first
  std::vector<store::IdempotencyRecord> added_;
};

}  // namespace nrd
