// Random create, patch and delete on random nodes. After each step the promises of the planner hold, and the hardware
// says what the setting says.
#include <doctest/doctest.h>

#include <vector>

#include "engine/transaction/transaction.h"
#include "tests/unit/engine/fake_node.h"
#include "tests/unit/engine/invariants.h"
#include "tests/unit/fault_points.h"

namespace nrd::property_test {

using nrd::testing::a_random_frequency;
using nrd::testing::check_all;
using nrd::testing::Dice;
using nrd::testing::FakeHardware;
using nrd::testing::FakeStore;
using nrd::testing::NodeShape;

namespace {

NodeShape a_node_shape(Dice& dice) {
  NodeShape shape;
  shape.sockets = 1 + dice.below(8);
  shape.cpus_per_socket = 1 + dice.below(12);
  shape.ways = 4 + dice.below(29);
  shape.classes = 2 + dice.below(63);
  shape.min_ways = 1 + dice.below(2);
  if (dice.once_in(2)) shape.shareable = WayMask::run(shape.ways - 2, 2);
  return shape;
}

Spec a_random_spec(Dice& dice, const NodeShape& shape) {
  Spec spec;
  const unsigned cpus = shape.sockets * shape.cpus_per_socket;
  for (unsigned n = 1 + dice.below(4); n > 0; --n) spec.cpus.add(CpuId{dice.below(cpus)});
  spec.core_ids = {spec.cpus.to_string()};
  CacheRequest cache;
  switch (dice.below(4)) {
    case 0: break;  // shared
    case 1: cache.max = cache.min = 1 + dice.below(shape.ways / 2); break;
    default: cache.min = 1 + dice.below(3); cache.max = cache.min + 1 + dice.below(shape.ways / 2);
  }
  if (!dice.once_in(5)) spec.cache = cache;
  if (!spec.cache || dice.once_in(3)) spec.frequency = a_random_frequency(dice);
  return spec;
}

Command a_random_command(Dice& dice, const NodeState& state, const NodeShape& shape) {
  if (state.workloads.empty() || dice.once_in(2)) return CreateWorkload{a_random_spec(dice, shape)};
  auto victim = state.workloads.begin();
  std::advance(victim, dice.below(static_cast<unsigned>(state.workloads.size())));
  if (dice.once_in(2)) return DeleteWorkload{victim->first};
  const Spec spec = a_random_spec(dice, shape);
  SpecPatch patch;
  if (spec.cache) patch.cache = testing::max_and_min(spec.cache->max, spec.cache->min);
  if (dice.once_in(3)) patch.frequency = spec.frequency;
  if (dice.once_in(2)) {
    patch.core_ids = spec.core_ids;
    patch.cpus = spec.cpus;
  }
  return PatchWorkload{victim->first, patch};
}

}  // namespace

TEST_CASE("any sequence of requests keeps masks contiguous, disjoint and inside their pools") {
  const SystemClock clock;
  unsigned accepted = 0;
  const unsigned nodes = nrd::testing::often(40U);
  for (unsigned seed = 1; seed <= nodes; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    NodeShape shape = a_node_shape(dice);
    shape.cpus_per_domain = dice.once_in(2) ? 1 : 2;
    FakeHardware hardware(shape);
    FakeStore store;
    NodeConfig config;
    config.shrink = dice.once_in(2);
    auto writer = std::make_unique<Transaction>(hardware, store, clock, config);
    REQUIRE(writer->recover());
    const Observed fresh = hardware.tree;
    for (int step = 0; step < 150; ++step) {
      CAPTURE(step);
      const std::vector<Command> commands{a_random_command(dice, writer->state(), shape)};
      const NodeState before = writer->state();
      const auto outcome = writer->apply(commands).front();
      if (outcome) {
        ++accepted;
      } else {
        REQUIRE(writer->state().workloads == before.workloads);
      }
      check_all(writer->state(), shape, hardware, store);
      if (dice.once_in(40)) {  // a restart in between changes nothing
        const Workloads kept = writer->state().workloads;
        writer = std::make_unique<Transaction>(hardware, store, clock, config);
        REQUIRE(writer->recover());
        REQUIRE(writer->state().workloads == kept);
        check_all(writer->state(), shape, hardware, store);
      }
    }
    while (!writer->state().workloads.empty()) {
      const std::vector<Command> commands{DeleteWorkload{writer->state().workloads.begin()->first}};
      REQUIRE(writer->apply(commands).front());
    }
    REQUIRE(hardware.tree == fresh);
  }
  CHECK(accepted > nodes * 35);
}

}  // namespace nrd::property_test
