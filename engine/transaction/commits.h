// Commits the durable half of the state, and remembers it as the store is known to hold it. A commit that fails or
// whose outcome is unknown returns the state and the hardware to that. Engine thread.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "engine/model/durable_state.h"
#include "engine/transaction/idempotency.h"

namespace nrd::store {
class Store;
struct Change;
}  // namespace nrd::store

namespace nrd {

class HardwareSync;
struct NodeState;

class Commits {
 public:
  Commits(store::Store& store, const Clock& clock, NodeState& state, HardwareSync& sync)
      : store_(store), clock_(clock), state_(state), sync_(sync) {}

  // Reads the durable half of the state. Baselines of another boot are left out: the registers have been reset since.
  Result<void> load();
  // The workloads, the next id and the added keys; also drops the baselines of what was restored.
  Result<void> commit_workloads();
  // The baselines of the state, and what `change` has besides. Workloads that are not committed yet stay as they are.
  Result<void> commit_baselines(store::Change change);
  // Drops the baselines of restored settings without a workload: other software may change them from now on.
  void release_restored();
  // The stored baselines are those of another boot.
  void forget_baselines();

  // A commit has an unknown outcome. Until the store tells, nothing is written.
  bool is_unknown() const { return unknown_.has_value(); }
  // Tells the outcome if one is unknown; fails if it stays so.
  Result<void> resolve() { return unknown_ ? resolve_unknown() : Result<void>(); }

  Idempotency& keys() { return keys_; }
  const Idempotency& keys() const { return keys_; }
  // The age of keys: steps of the wall clock do not count while nrd runs.
  Time key_time() const {
    return start_ + std::chrono::floor<std::chrono::milliseconds>(clock_.steady() - start_steady_);
  }

 private:
  enum class Part { Baselines, All };
  Result<void> commit(store::Change change, Part part);
  Result<void> resolve_unknown();
  bool return_to_stored(Part part);
  bool drop_restored();

  store::Store& store_;
  const Clock& clock_;
  NodeState& state_;
  HardwareSync& sync_;
  DurableState stored_;
  Idempotency keys_;
  const Time start_ = now(clock_);
  const std::chrono::steady_clock::time_point start_steady_ = clock_.steady();
  struct Unknown {
    DurableState after;  // what the store holds if it contains the change
    Part part;
  };
  std::optional<Unknown> unknown_;
};

}  // namespace nrd
