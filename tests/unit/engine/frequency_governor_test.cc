// Monitored CPUs: the transaction counts their branches and sets them to an end of their window.
#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "engine/model/setting_changes.h"
#include "engine/transaction/transaction.h"
#include "tests/unit/engine/fake_node.h"

namespace nrd::frequency_governor_test {

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

struct Fixture {
  FakeHardware hardware{NodeShape{}};
  FakeStore store;
  Ticking clock;
  Transaction transaction{hardware, store, clock, {}};

  Fixture() { REQUIRE(transaction.recover()); }

  WorkloadId create(FrequencyRequest::Monitoring monitoring = FrequencyRequest::Monitoring::On) {
    FrequencyRequest request{.min = 12, .max = 30, .threshold = BranchMissThreshold{3}, .monitoring = monitoring};
    const std::vector<Command> commands{CreateWorkload{a_spec("4").no_cache().frequency(request)}};
    const auto made = value_of(transaction.apply(commands).front());
    return made.workload.id;
  }
  void run(uint64_t misses, int samples) {
    for (int i = 0; i < samples; ++i) {
      hardware.branches[CpuId{4}].branches += 1'000'000;
      hardware.branches[CpuId{4}].misses += misses;
      CHECK(transaction.govern_frequencies());
    }
  }
  std::pair<uint32_t, uint32_t> window() const {
    const pstate::FrequencySetting& knobs = hardware.tree.pstate.cpus.at(CpuId{4});
    return {knobs.min.value / 100'000, knobs.max.value / 100'000};
  }
};

using Window = std::pair<uint32_t, uint32_t>;

}  // namespace

TEST_CASE("a monitored CPU runs at the upper end, and at the lower end below the threshold") {
  Fixture fixture;
  fixture.create();
  CHECK(fixture.window() == Window{30, 30});
  fixture.run(1'000, 5);
  CHECK(fixture.window() == Window{12, 12});
  CHECK(is_applied(fixture.transaction.state(), fixture.transaction.state().workloads.begin()->second));
  fixture.run(90'000, 12);
  CHECK(fixture.window() == Window{30, 30});
  CHECK(fixture.transaction.state().governors.at(CpuId{4}).transitions == 2);
}

TEST_CASE("changing the speed of a CPU touches no other CPU") {
  Fixture fixture;
  fixture.create();
  FrequencyRequest fixed{.min = 20, .max = 20};
  const std::vector<Command> another{CreateWorkload{a_spec("5").no_cache().frequency(fixed)}};
  REQUIRE(fixture.transaction.apply(another).front());
  fixture.run(1'000, 5);
  const pstate::Setting moved = fixture.hardware.converged_frequencies;
  CHECK(moved.cpus.contains(CpuId{4}));
  CHECK_FALSE(moved.cpus.contains(CpuId{5}));
  CHECK(fixture.window() == Window{12, 12});
}

TEST_CASE("a delete restores the frequency and stops counting") {
  Fixture fixture;
  const Observed before = FakeHardware(NodeShape{}).tree;
  const std::vector<Command> gone{DeleteWorkload{fixture.create()}};
  fixture.run(1'000, 5);
  REQUIRE(fixture.transaction.apply(gone).front());
  CHECK(fixture.hardware.tree == before);
  fixture.transaction.govern_frequencies();
  CHECK(fixture.hardware.counted_on.empty());
  CHECK_FALSE(fixture.transaction.govern_frequencies());
}

TEST_CASE("without monitoring the threshold is stored and the CPU is untouched") {
  Fixture fixture;
  fixture.create(FrequencyRequest::Monitoring::Off);
  CHECK(fixture.window() == Window{8, 35});
  CHECK_FALSE(fixture.transaction.govern_frequencies());
  CHECK(fixture.store.first_workload().spec.frequency->threshold == BranchMissThreshold{3.0});
}

TEST_CASE("a restart starts at the upper end") {
  Fixture fixture;
  fixture.create();
  fixture.run(1'000, 5);
  CHECK(fixture.window() == Window{12, 12});
  Transaction again(fixture.hardware, fixture.store, fixture.clock, {});
  REQUIRE(again.recover());
  CHECK(again.state().workloads.size() == 1);
  CHECK(again.state().health.hardware_problem == "");
  CHECK(fixture.window().first == 30);
  CHECK(fixture.window().second == 30);
}

TEST_CASE("a speed change that the hardware refuses is reported and retried") {
  Fixture fixture;
  fixture.create();
  fixture.hardware.broken_from_write = fixture.hardware.writes + 1;
  fixture.run(1'000, 5);
  CHECK_FALSE(fixture.transaction.state().health.hardware_problem.empty());
  fixture.hardware.broken_from_write.reset();
  fixture.transaction.repair();
  CHECK(fixture.window() == Window{12, 12});
  CHECK(fixture.transaction.state().health.hardware_problem.empty());
}

TEST_CASE("without branch counters monitoring is refused with the reason") {
  Fixture fixture;
  fixture.hardware.facts.pstate.cannot_count_branches = "no counters";
  fixture.transaction.repair();
  FrequencyRequest request{.threshold = BranchMissThreshold{3}};
  const std::vector<Command> commands{CreateWorkload{a_spec("4").frequency(request)}};
  const Error refused = error_of(fixture.transaction.apply(commands).front());
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(refused.field == "/pstate/ratio");
  CHECK(refused.message == "no counters");
}

TEST_CASE("a speed change during frozen writes persists") {
  Fixture fixture;
  fixture.create();
  fixture.run(90'000, 2);
  fixture.store.next_outcomes = {store::Committed::Unknown};
  fixture.store.reopens = false;
  const std::vector<Command> another{CreateWorkload{a_spec("9").ways(2, 2)}};
  CHECK_FALSE(fixture.transaction.apply(another).front());
  REQUIRE(fixture.transaction.state().health.writes_frozen);
  fixture.run(1'000, 5);
  CHECK(fixture.window() == Window{12, 12});
  fixture.store.reopens = true;
  fixture.transaction.repair();
  CHECK_FALSE(fixture.transaction.state().health.writes_frozen);
  CHECK(fixture.window() == Window{12, 12});
  CHECK(fixture.transaction.state().governors.at(CpuId{4}).transitions == 1);
}

TEST_CASE("counters close with the last monitored workload, also after frozen writes") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
  fixture.store.reopens = false;
  const std::vector<Command> another{CreateWorkload{a_spec("9").ways(2, 2)}};
  CHECK_FALSE(fixture.transaction.apply(another).front());
  fixture.run(1'000, 2);
  CHECK_FALSE(fixture.hardware.counted_on.empty());
  fixture.store.reopens = true;
  const std::vector<Command> gone{DeleteWorkload{id}};
  REQUIRE(fixture.transaction.apply(gone).front());
  fixture.transaction.govern_frequencies();
  CHECK(fixture.hardware.counted_on.empty());
}

TEST_CASE("a frequency domain is fast while one of its CPUs requests it") {
  FakeHardware hardware({.cpus_per_domain = 2});
  FakeStore store;
  Ticking clock;
  Transaction transaction{hardware, store, clock, {}};
  REQUIRE(transaction.recover());
  const FrequencyRequest request{.min = 12, .max = 30, .threshold = BranchMissThreshold{3}};
  const std::vector<Command> commands{CreateWorkload{a_spec("4-5").no_cache().frequency(request)}};
  REQUIRE(transaction.apply(commands).front());
  const auto run = [&](uint64_t misses_of_4, int samples) {
    for (int i = 0; i < samples; ++i) {
      for (const uint32_t cpu : {4U, 5U}) {
        hardware.branches[CpuId{cpu}].branches += 1'000'000;
        hardware.branches[CpuId{cpu}].misses += cpu == 5 ? 1'000 : misses_of_4;
      }
      transaction.govern_frequencies();
    }
    CHECK(differences(setting_of(transaction.state()), hardware.tree).empty());
    transaction.repair();
    CHECK(transaction.state().health.drift_repairs == 0);
    return hardware.tree.pstate.cpus.at(CpuId{4}).max;
  };
  CHECK(run(90'000, 6) == KHz{3'000'000});
  CHECK(run(1'000, 12) == KHz{1'200'000});
  CHECK(run(90'000, 12) == KHz{3'000'000});
}

TEST_CASE("missing branch counters are refused at create and reported later") {
  Fixture fixture;
  fixture.hardware.uncountable = {4};
  const FrequencyRequest request{.min = 12, .max = 30, .threshold = BranchMissThreshold{3}};
  const std::vector<Command> commands{CreateWorkload{a_spec("4").no_cache().frequency(request)}};
  CHECK(fixture.transaction.apply(commands).front().error().message == "the branches of CPU 4 cannot be counted now");
  CHECK(fixture.transaction.state().baselines.frequencies.empty());
  fixture.hardware.uncountable = {};
  fixture.create();
  fixture.hardware.uncountable = {4};
  fixture.transaction.govern_frequencies();
  CHECK_FALSE(is_applied(fixture.transaction.state(), fixture.transaction.state().workloads.begin()->second));
  fixture.hardware.uncountable = {};
  fixture.transaction.govern_frequencies();
  CHECK(is_applied(fixture.transaction.state(), fixture.transaction.state().workloads.begin()->second));
}

TEST_CASE("a create and delete in one batch leave no claim") {
  Fixture fixture;
  const FrequencyRequest fixed{.min = 20, .max = 20};
  const std::vector<Command> both{CreateWorkload{a_spec("5").no_cache().frequency(fixed)},
                                  DeleteWorkload{WorkloadId{1}}};
  for (const auto& outcome : fixture.transaction.apply(both)) CHECK(outcome);
  CHECK(fixture.transaction.state().workloads.empty());
  CHECK(fixture.transaction.state().baselines.frequencies.empty());
  CHECK(fixture.store.baselines().frequencies.empty());
}

TEST_CASE("a speed change of one CPU does not hide the problem of another") {
  Fixture fixture;
  fixture.create();
  const FrequencyRequest fixed{.min = 20, .max = 20};
  const std::vector<Command> another{CreateWorkload{a_spec("5").no_cache().frequency(fixed)}};
  REQUIRE(fixture.transaction.apply(another).front());
  fixture.hardware.tree.pstate.cpus.edit().at(CpuId{5}).max = KHz{2'500'000};
  fixture.hardware.stuck = {5};
  fixture.transaction.repair();
  REQUIRE_FALSE(fixture.transaction.state().health.hardware_problem.empty());
  fixture.run(1'000, 5);
  CHECK(fixture.window() == Window{12, 12});
  CHECK_FALSE(fixture.transaction.state().health.hardware_problem.empty());
}

}  // namespace nrd::frequency_governor_test
