// A transaction on a node and a store in memory: what tests of its commands begin with.
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

inline Task a_process(pid_t id) { return {.id = id, .process = id, .start = 7, .boot_id = "boot-1"}; }

// The wall clock may be set; the steady one goes on.
struct SteppedClock final : Clock {
  std::chrono::system_clock::time_point now() const override { return real.now() + step; }
  std::chrono::steady_clock::time_point steady() const override { return real.steady(); }
  SystemClock real;
  std::chrono::hours step{0};
};

struct TransactionFixture {
  explicit TransactionFixture(const NodeShape& shape = {}, NodeConfig configured = {});
  ~TransactionFixture();

  // Also again, as after a stop.
  void start();
  const NodeState& state() const;
  Result<Workload> apply(Command command);
  Result<Workload> create(Spec spec);
  Result<Workload> patch(WorkloadId id, SpecPatch patch);
  Result<Workload> remove(WorkloadId id);
  Result<Done> dry_run(const Command& command);
  // Ways of a cache that has 11.
  std::string drawn(unsigned clos, unsigned cache) const;
  std::string cpus(unsigned clos) const;

  void note_memory_changed();
  // Waits until memory has been changed on the other thread, and does what follows.
  void finish_memory_change();

  std::atomic<bool> memory_changed = false;  // first: the other thread ends after `transaction`
  FakeHardware hardware;
  FakeStore store;
  SteppedClock clock;
  NodeConfig config;
  std::unique_ptr<Transaction> transaction;
};

// Waits for the outcome.
Result<Done> submit(Engine& engine, Command command);

// Creates `spec` on a new fixture once for each write, of which there are more than `least`, and that one fails: all is
// as before, and nothing about CPUs is claimed.
template <typename Fixture>
void check_failed_writes(const Spec& spec, uint64_t least) {
  for (uint64_t point = 1;; ++point) {
    CAPTURE(point);
    Fixture fixture;
    const Observed before = fixture.hardware.tree;
    fixture.hardware.fail_at_write = fixture.hardware.writes + point;
    const Result<Workload> made = fixture.create(spec);
    if (made) {
      CHECK(point > least);
      break;
    }
    CHECK(made.error().code == ErrorCode::Hardware);
    CHECK(fixture.hardware.tree == before);
    CHECK(is_ok(fixture.state()));
    const Baselines claimed = fixture.store.baselines();
    CHECK(claimed.cpu_sets.empty());
    CHECK(claimed.cpu_shares.empty());
    CHECK(claimed.memory.empty());
    CHECK(claimed.latency.empty());
  }
}

}  // namespace nrd::testing
