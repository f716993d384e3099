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
inline std::string picture(WayMask ways, unsigned width) {
  std::string text;
  for (unsigned way = 0; way < width; ++way) text += ways.contains(WayMask::run(way, 1)) ? '#' : '.';
  return text;
}

struct TransactionFixture {
  explicit TransactionFixture(const NodeShape& shape = {}, EngineOptions configured = {})
      : hardware(shape), options(std::move(configured)) {}

  // Also again, as after a stop.
  void start() {
    writer = std::make_unique<Transaction>(hardware, store, clock, options, [this] { note_memory_changed(); });
    REQUIRE(writer->recover());
  }
  const NodeState& state() const { return writer->state(); }
  Result<Workload> apply(Command command) {
    const std::vector<Command> commands{std::move(command)};
    return writer->apply(commands).front().map([](Applied applied) { return std::move(applied.workload); });
  }
  Result<Workload> create(Spec spec) { return apply(CreateWorkload{std::move(spec)}); }
  Result<Workload> patch(WorkloadId id, SpecPatch patch) { return apply(PatchWorkload{id, std::move(patch)}); }
  Result<Workload> remove(WorkloadId id) { return apply(DeleteWorkload{id}); }
  Result<Applied> dry_run(const Command& command) { return writer->dry_run(command); }
  // Ways of a cache that has 11.
  std::string drawn(unsigned clos, unsigned cache) const {
    const auto group = hardware.tree.rdt.classes.find(ClosId{clos});
    return group == hardware.tree.rdt.classes.end() ? "absent" : picture(group->second.ways.at(CacheId{cache}), 11);
  }
  std::string cpus(unsigned clos) const {
    const auto group = hardware.tree.rdt.classes.find(ClosId{clos});
    return group == hardware.tree.rdt.classes.end() ? "" : group->second.cpus.to_string();
  }

  void note_memory_changed() {
    memory_changed = true;
    memory_changed.notify_one();
  }
  // Waits until memory has been changed on the other thread, and does what follows.
  void finish_memory_change() {
    memory_changed.wait(false);
    memory_changed = false;
    writer->finish_memory_changes();
  }

  std::atomic<bool> memory_changed = false;  // first: the other thread ends after `writer`
  FakeHardware hardware;
  FakeStore store;
  SystemClock clock;
  EngineOptions options;
  std::unique_ptr<Transaction> writer;
};

}  // namespace nrd::testing
