// A writer on a node and a store in memory: what tests of its commands begin with.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/transaction/transaction.h"
#include "tests/unit/engine/fake_node.h"

namespace nrd::testing {

// Ways as a picture, way 0 at the left: "..##.......".
std::string picture(WayMask ways, unsigned width);

struct TransactionFixture {
  explicit TransactionFixture(const NodeShape& shape = {}, EngineOptions configured = {});
  ~TransactionFixture();

  // Also again, as after a stop.
  void start();
  const NodeState& state() const;
  Result<Workload> apply(Command command);
  Result<Workload> create(Spec spec);
  Result<Workload> patch(WorkloadId id, SpecPatch patch);
  Result<Workload> remove(WorkloadId id);
  Outcome dry_run(const Command& command);
  // Ways of a cache that has 11.
  std::string drawn(unsigned clos, unsigned cache) const;
  std::string cpus(unsigned clos) const;

  void note_memory_changed();
  // Waits until memory has been changed on the other thread, and does what follows.
  void finish_memory_change();

  std::atomic<bool> memory_changed = false;  // first: the other thread ends after `writer`
  FakeHardware hardware;
  FakeStore store;
  SystemClock clock;
  EngineOptions options;
  std::unique_ptr<Transaction> writer;
};

}  // namespace nrd::testing
