// Monitored CPUs: the writer counts their branches and sets them to an end of their window.
#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "engine/transaction/transaction.h"
#include "tests/unit/engine/fake_node.h"

using namespace nrd;
using namespace nrd::testing;

namespace {

// A clock that goes on by a sample with each refresh.
class Ticking final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override { return {}; }
  std::chrono::steady_clock::time_point steady() const override { return now_ += plan::kSampleInterval; }

 private:
  mutable std::chrono::steady_clock::time_point now_{};
};

struct House {
  FakeHardware hardware{NodeShape{}};
  FakeStore store;
  Ticking clock;
  Transaction writer{hardware, store, clock, {}};

  House() { REQUIRE(writer.recover()); }

  WorkloadId create(bool is_monitored = true) {
    FrequencyRequest request{.min = 12, .max = 30, .threshold = BranchMissThreshold{3}, .is_monitored = is_monitored};
    const std::vector<Command> commands{CreateWorkload{a_spec("4").no_cache().frequency(request)}};
    const auto made = writer.apply(commands).front();
    REQUIRE(made);
    return made->id;
  }
  void run(uint64_t misses, int samples) {
    for (int i = 0; i < samples; ++i) {
      hardware.branches[CpuId{4}].branches += 1'000'000;
      hardware.branches[CpuId{4}].misses += misses;
      CHECK(writer.govern_frequencies());
    }
  }
  std::pair<uint32_t, uint32_t> window() const {
    const pstate::FrequencySetting& knobs = hardware.tree.pstate.cpus.at(CpuId{4});
    return {knobs.min.value / 100'000, knobs.max.value / 100'000};
  }
};

using Window = std::pair<uint32_t, uint32_t>;

}  // namespace

TEST_CASE("a monitored CPU runs at the upper end, and at the lower while it predicts well") {
  House house;
  house.create();
  CHECK(house.window() == Window{30, 30});
  house.run(1'000, 5);
  CHECK(house.window() == Window{12, 12});
  CHECK(is_applied(house.writer.state(), house.writer.state().workloads.begin()->second));
  house.run(90'000, 12);
  CHECK(house.window() == Window{30, 30});
  CHECK(house.writer.state().paces.at(CpuId{4}).transitions == 2);
}

TEST_CASE("when a CPU moves, no other one is touched") {
  House house;
  house.create();
  FrequencyRequest fixed{.min = 20, .max = 20};
  const std::vector<Command> another{CreateWorkload{a_spec("5").no_cache().frequency(fixed)}};
  REQUIRE(house.writer.apply(another).front());
  house.run(1'000, 5);
  const pstate::Setting moved = house.hardware.converged_frequencies;
  CHECK(moved.cpus.contains(CpuId{4}));
  CHECK_FALSE(moved.cpus.contains(CpuId{5}));
  CHECK(house.window() == Window{12, 12});
}

TEST_CASE("deleted, it is as before and counted no longer") {
  House house;
  const Observed before = FakeHardware(NodeShape{}).tree;
  const std::vector<Command> gone{DeleteWorkload{house.create()}};
  house.run(1'000, 5);
  REQUIRE(house.writer.apply(gone).front());
  CHECK(house.hardware.tree == before);
  house.writer.govern_frequencies();
  CHECK(house.hardware.counted_on.empty());
  CHECK_FALSE(house.writer.govern_frequencies());
}

TEST_CASE("without monitoring the threshold is kept and the CPU left alone") {
  House house;
  house.create(false);
  CHECK(house.window() == Window{8, 35});
  CHECK_FALSE(house.writer.govern_frequencies());
  CHECK(house.store.records.workloads.front().frequency->threshold == 3.0);
}

TEST_CASE("a restart begins at the upper end again") {
  House house;
  house.create();
  house.run(1'000, 5);
  CHECK(house.window() == Window{12, 12});
  Transaction again(house.hardware, house.store, house.clock, {});
  REQUIRE(again.recover());
  CHECK(again.state().workloads.size() == 1);
  CHECK(again.state().health.hardware_problem == "");
  CHECK(house.window().first == 30);
  CHECK(house.window().second == 30);
}

TEST_CASE("a move that the hardware refuses is a problem that is told, and tried again") {
  House house;
  house.create();
  house.hardware.broken_from_write = house.hardware.writes + 1;
  house.run(1'000, 5);
  CHECK_FALSE(house.writer.state().health.hardware_problem.empty());
  house.hardware.broken_from_write.reset();
  house.writer.repair();
  CHECK(house.window() == Window{12, 12});
  CHECK(house.writer.state().health.hardware_problem.empty());
}

TEST_CASE("where branches cannot be counted, monitoring is refused with the reason") {
  House house;
  house.hardware.facts.pstate.cannot_count_branches = "no counters";
  house.writer.repair();
  FrequencyRequest request{.threshold = BranchMissThreshold{3}};
  const std::vector<Command> commands{CreateWorkload{a_spec("4").frequency(request)}};
  const auto refused = house.writer.apply(commands).front();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK(refused.error().field == "/pstate/ratio");
  CHECK(refused.error().message == "no counters");
}

TEST_CASE("what monitoring decided while the store was frozen stays decided") {
  House house;
  house.create();
  house.run(90'000, 2);
  house.store.next_outcomes = {store::Committed::Unknown};
  house.store.reopens = false;
  const std::vector<Command> another{CreateWorkload{a_spec("9").ways(2, 2)}};
  CHECK_FALSE(house.writer.apply(another).front());
  REQUIRE(house.writer.state().health.writes_frozen);
  house.run(1'000, 5);
  CHECK(house.window() == Window{12, 12});
  house.store.reopens = true;
  house.writer.repair();
  CHECK_FALSE(house.writer.state().health.writes_frozen);
  CHECK(house.window() == Window{12, 12});
  CHECK(house.writer.state().paces.at(CpuId{4}).transitions == 1);
}

TEST_CASE("counters are closed when the last monitored workload goes, also after a freeze") {
  House house;
  const WorkloadId id = house.create();
  house.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
  house.store.reopens = false;
  const std::vector<Command> another{CreateWorkload{a_spec("9").ways(2, 2)}};
  CHECK_FALSE(house.writer.apply(another).front());
  house.run(1'000, 2);
  CHECK_FALSE(house.hardware.counted_on.empty());
  house.store.reopens = true;
  const std::vector<Command> gone{DeleteWorkload{id}};
  REQUIRE(house.writer.apply(gone).front());
  house.writer.govern_frequencies();
  CHECK(house.hardware.counted_on.empty());
}

TEST_CASE("CPUs of one domain are fast together while one of them asks for it") {
  FakeHardware hardware({.cpus_per_domain = 2});
  FakeStore store;
  Ticking clock;
  Transaction writer{hardware, store, clock, {}};
  REQUIRE(writer.recover());
  const FrequencyRequest request{.min = 12, .max = 30, .threshold = BranchMissThreshold{3}};
  const std::vector<Command> commands{CreateWorkload{a_spec("4-5").no_cache().frequency(request)}};
  REQUIRE(writer.apply(commands).front());
  const auto run = [&](uint64_t misses_of_5, int samples) {
    for (int i = 0; i < samples; ++i) {
      for (const uint32_t cpu : {4U, 5U}) {
        hardware.branches[CpuId{cpu}].branches += 1'000'000;
        hardware.branches[CpuId{cpu}].misses += cpu == 4 ? 1'000 : misses_of_5;
      }
      writer.govern_frequencies();
    }
    CHECK(differences(setting_of(writer.state()), hardware.tree).empty());
    writer.repair();
    CHECK(writer.state().health.drift_repairs == 0);
    return hardware.tree.pstate.cpus.at(CpuId{4}).max;
  };
  CHECK(run(90'000, 6) == KHz{3'000'000});
  CHECK(run(1'000, 12) == KHz{1'200'000});
  CHECK(run(90'000, 12) == KHz{3'000'000});
}

TEST_CASE("a CPU whose branches cannot be counted is refused, and told if that comes later") {
  House house;
  house.hardware.uncountable = {4};
  const FrequencyRequest request{.min = 12, .max = 30, .threshold = BranchMissThreshold{3}};
  const std::vector<Command> commands{CreateWorkload{a_spec("4").no_cache().frequency(request)}};
  CHECK(house.writer.apply(commands).front().error().message == "the branches of CPU 4 cannot be counted now");
  CHECK(house.writer.state().baselines.frequencies.empty());
  house.hardware.uncountable = {};
  house.create();
  house.hardware.uncountable = {4};
  house.writer.govern_frequencies();
  CHECK_FALSE(is_applied(house.writer.state(), house.writer.state().workloads.begin()->second));
  house.hardware.uncountable = {};
  house.writer.govern_frequencies();
  CHECK(is_applied(house.writer.state(), house.writer.state().workloads.begin()->second));
}

TEST_CASE("a create and its delete in one batch leave no claim") {
  House house;
  const FrequencyRequest fixed{.min = 20, .max = 20};
  const std::vector<Command> both{CreateWorkload{a_spec("5").no_cache().frequency(fixed)},
                                  DeleteWorkload{WorkloadId{1}}};
  for (const auto& outcome : house.writer.apply(both)) CHECK(outcome);
  CHECK(house.writer.state().workloads.empty());
  CHECK(house.writer.state().baselines.frequencies.empty());
  CHECK(house.store.records.baselines.frequencies.empty());
}

TEST_CASE("a move of one CPU does not hide the problem of another") {
  House house;
  house.create();
  const FrequencyRequest fixed{.min = 20, .max = 20};
  const std::vector<Command> another{CreateWorkload{a_spec("5").no_cache().frequency(fixed)}};
  REQUIRE(house.writer.apply(another).front());
  house.hardware.tree.pstate.cpus.at(CpuId{5}).max = KHz{2'500'000};
  house.hardware.stuck = {5};
  house.writer.repair();
  REQUIRE_FALSE(house.writer.state().health.hardware_problem.empty());
  house.run(1'000, 5);
  CHECK(house.window() == Window{12, 12});
  CHECK_FALSE(house.writer.state().health.hardware_problem.empty());
}
