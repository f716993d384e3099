// Random create, patch and delete on random nodes. After each step the promises of the planner hold, and the hardware
// says what the setting says.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "engine/setting.h"
#include "engine/writer.h"
#include "tests/unit/engine/fake_node.h"

using namespace nrd;
using nrd::testing::FakeHardware;
using nrd::testing::FakeStore;
using nrd::testing::NodeShape;

namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  unsigned below(unsigned end) { return static_cast<unsigned>(engine_()) % end; }
  bool once_in(unsigned n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

NodeShape a_shape(Dice& dice) {
  NodeShape shape;
  shape.sockets = 1 + dice.below(8);
  shape.cpus_per_socket = 1 + dice.below(12);
  shape.ways = 4 + dice.below(29);
  shape.classes = 2 + dice.below(63);
  shape.min_ways = 1 + dice.below(2);
  if (dice.once_in(2)) shape.shareable = WayMask::run(shape.ways - 2, 2);
  return shape;
}

// Within the limits or not.
FrequencyRequest a_random_frequency(Dice& dice) {
  FrequencyRequest request;
  request.max = 1 + dice.below(40);
  if (dice.once_in(2)) request.min = 1 + dice.below(*request.max);
  if (dice.once_in(3)) request.governor = dice.once_in(2) ? "performance" : "powersave";
  if (dice.once_in(4)) request.epp = "power";
  if (dice.once_in(4)) request.turbo = false;
  if (dice.once_in(2)) request.shared_domain = FrequencyRequest::SharedDomain::Allow;
  return request;
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

WayMask pool_ways(const Layout& layout, Pool pool) {
  return pool == Pool::Guarantee ? layout.guarantee : pool == Pool::BestEffort ? layout.besteffort : layout.shared;
}

void check_workload(const NodeState& state, const NodeShape& shape, const Workload& workload) {
  const auto& [pool, clos, ways, frequencies, bandwidth] = workload.grant;
  REQUIRE(frequencies.size() == (workload.spec.frequency ? workload.spec.cpus.size() : 0));
  for (const auto& [cpu, knobs] : frequencies) {
    const pstate::Cpu& limits = state.facts.pstate.cpus.at(cpu);
    REQUIRE((limits.min <= knobs.min && knobs.min <= knobs.max && knobs.max <= limits.max));
    REQUIRE(knobs.max.value % kBusClock.value == 0);
  }
  REQUIRE(workload.grant.has_class() == workload.spec.cache.has_value());
  if (!workload.grant.has_class()) {
    REQUIRE(ways.empty());
    return;
  }
  REQUIRE(ways.size() >= 1);
  for (const auto& [cache, cpus] : state.facts.rdt.caches) {
    REQUIRE(ways.contains(cache) == cpus.intersects(workload.spec.cpus));
    if (!ways.contains(cache)) continue;
    const WayMask mask = ways.at(cache);
    REQUIRE(mask.is_contiguous());
    REQUIRE(mask.count() >= shape.min_ways);
    REQUIRE(pool_ways(*state.layout, pool).contains(mask));
    if (pool == Pool::Guarantee) REQUIRE(mask.count() == workload.spec.cache->max);
    if (pool == Pool::BestEffort) {
      REQUIRE(mask.count() >= workload.spec.cache->min);
      REQUIRE(mask.count() <= workload.spec.cache->max);
    }
    REQUIRE_FALSE(mask.intersects(os_ways(state, cache)));
  }
  REQUIRE(clos.value > 0);
  REQUIRE(clos.value < shape.classes);
}

void check_pair(const Workload& a, const Workload& b) {
  REQUIRE_FALSE(a.spec.cpus.intersects(b.spec.cpus));
  const bool both_shared = a.grant.pool == Pool::Shared && b.grant.pool == Pool::Shared;
  if (!a.grant.has_class() || !b.grant.has_class()) return;
  REQUIRE((a.grant.clos == b.grant.clos) == both_shared);
  if (both_shared) return;
  for (const auto& [cache, ways] : a.grant.ways) {
    const auto other = b.grant.ways.find(cache);
    if (other != b.grant.ways.end()) REQUIRE_FALSE(ways.intersects(other->second));
  }
}

void check_all(const NodeState& state, const NodeShape& shape, const FakeHardware& hardware, const FakeStore& store) {
  for (auto a = state.workloads.begin(); a != state.workloads.end(); ++a) {
    check_workload(state, shape, a->second);
    REQUIRE(is_applied(state, a->second));
    for (auto b = std::next(a); b != state.workloads.end(); ++b) check_pair(a->second, b->second);
  }
  REQUIRE(differences(setting_of(state), hardware.tree).empty());
  REQUIRE(state.observed == hardware.tree);
  REQUIRE(store.records.workloads.size() == state.workloads.size());
  for (const store::WorkloadRecord& record : store.records.workloads) {
    REQUIRE(record == to_record(state.workloads.at(record.id)));
  }
}

Command a_random_command(Dice& dice, const NodeState& state, const NodeShape& shape) {
  if (state.workloads.empty() || dice.once_in(2)) return CreateWorkload{a_random_spec(dice, shape)};
  auto victim = state.workloads.begin();
  std::advance(victim, dice.below(static_cast<unsigned>(state.workloads.size())));
  if (dice.once_in(2)) return DeleteWorkload{victim->first};
  const Spec spec = a_random_spec(dice, shape);
  SpecPatch patch;
  if (spec.cache) {
    patch.max = spec.cache->max;
    patch.min = spec.cache->min;
  }
  if (dice.once_in(3)) patch.frequency = spec.frequency;
  if (dice.once_in(2)) {
    patch.core_ids = spec.core_ids;
    patch.cpus = spec.cpus;
  }
  return PatchWorkload{victim->first, patch};
}

}  // namespace

TEST_CASE("whatever is asked in whatever order, masks stay whole, apart and inside their pools") {
  const SystemClock clock;
  unsigned accepted = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    NodeShape shape = a_shape(dice);
    shape.cpus_per_domain = dice.once_in(2) ? 1 : 2;
    FakeHardware hardware(shape);
    FakeStore store;
    EngineOptions options;
    options.shrink = dice.once_in(2);
    auto writer = std::make_unique<Writer>(hardware, store, clock, options);
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
        const plan::Workloads kept = writer->state().workloads;
        writer = std::make_unique<Writer>(hardware, store, clock, options);
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
  CHECK(accepted > 1500);
}
