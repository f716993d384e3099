// What others write on frequencies that are set for workloads.
#include <doctest/doctest.h>

#include "engine/model/baselines.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::external_frequencies_test {

using namespace nrd::testing;

namespace {

const pstate::FrequencySetting kBefore{KHz{800'000}, KHz{3'500'000}, "powersave", "balance_performance"};
const pstate::FrequencySetting kOurs{KHz{1'200'000}, KHz{3'000'000}, "powersave", "balance_performance"};
const pstate::FrequencySetting kTheirs{KHz{1'000'000}, KHz{2'000'000}, "performance", "performance"};

struct Fixture : TransactionFixture {
  explicit Fixture(const NodeShape& shape = {}) : TransactionFixture(shape) { start(); }

  WorkloadId create(const std::string& cpus = "4") {
    const auto made = value_of(
        TransactionFixture::create(a_spec(cpus).no_cache().frequency({.min = 12, .max = 30, .shared_domain = kAllow})));
    return made.id;
  }
  pstate::FrequencySetting& knobs(uint32_t cpu = 4) { return hardware.tree.pstate.cpus.edit().at(CpuId{cpu}); }
  std::map<CpuId, pstate::FrequencySetting> stored() const { return store.baselines().frequencies_of_others; }

 private:
  static constexpr auto kAllow = FrequencyRequest::SharedDomain::Allow;
};

}  // namespace

TEST_CASE("an external frequency is overwritten and restored at release") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  CHECK(fixture.knobs() == kOurs);
  fixture.knobs() = kTheirs;
  fixture.transaction->repair();
  CHECK(fixture.knobs() == kOurs);
  CHECK(fixture.state().health.drift_repairs == 1);
  REQUIRE(fixture.stored().size() == 1);
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == kTheirs);
  CHECK(fixture.stored().empty());
  CHECK(fixture.store.baselines().frequencies.empty());
}

TEST_CASE("a drift check interrupts only CPUs whose frequency nrd has set") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  const auto interrupted = [&fixture] {
    fixture.hardware.frequencies_observed = {};
    fixture.transaction->repair();
    return fixture.hardware.frequencies_observed;
  };
  fixture.knobs(5) = kTheirs;
  CHECK(interrupted() == CpuSet{4});
  const pstate::FrequencySetting& shown = fixture.state().observed.pstate.cpus.at(CpuId{5});
  CHECK(shown.governor == kTheirs.governor);
  CHECK(shown.max == kTheirs.max);
  CHECK(shown.epp == kBefore.epp);  // as last read
  // Read before nrd sets it, so that DELETE restores it.
  const WorkloadId other = fixture.create("5");
  CHECK(interrupted() == CpuSet{4, 5});
  REQUIRE(fixture.remove(id));
  REQUIRE(fixture.remove(other));
  CHECK(fixture.knobs(5) == kTheirs);
  CHECK(interrupted() == CpuSet{});
}

TEST_CASE("a drift check reads the frequency of a CPU that has come online") {
  Fixture fixture;
  const auto facts = fixture.hardware.facts.pstate.cpus;
  const auto knobs = fixture.hardware.tree.pstate.cpus;
  fixture.hardware.facts.pstate.cpus.edit().erase(CpuId{6});
  fixture.hardware.tree.pstate.cpus.edit().erase(CpuId{6});
  fixture.transaction->repair();
  fixture.hardware.facts.pstate.cpus = facts;
  fixture.hardware.tree.pstate.cpus = knobs;
  fixture.hardware.frequencies_observed = {};
  fixture.transaction->repair();
  CHECK(fixture.hardware.frequencies_observed == CpuSet{6});
}

TEST_CASE("a driver that replaces another one at run time is given its own setting back") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  const pstate::Cpu facts = fixture.hardware.facts.pstate.cpus.at(CpuId{4});
  auto& cpus = fixture.hardware.facts.pstate.cpus;
  pstate::Cpu passive = facts;
  passive.driver = "intel_cpufreq";
  passive.governors.emplace_back("schedutil");
  SUBCASE("at once") {}
  SUBCASE("with a drift check in between") {
    cpus.edit().erase(CpuId{4});
    fixture.hardware.tree.pstate.cpus.edit().erase(CpuId{4});
    fixture.transaction->repair();
  }
  const pstate::FrequencySetting initial{kBefore.min, kBefore.max, "schedutil", kBefore.epp};
  cpus.edit()[CpuId{4}] = passive;
  fixture.hardware.tree.pstate.cpus.edit()[CpuId{4}] = initial;
  fixture.transaction->repair();
  CHECK(fixture.knobs() == pstate::FrequencySetting{kOurs.min, kOurs.max, "schedutil", kOurs.epp});
  CHECK(is_ok(fixture.state()));
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == initial);
  CHECK(fixture.store.baselines().frequencies.empty());
}

TEST_CASE("the latest external frequency wins, even if it equals the baseline") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.knobs().max = KHz{2'000'000};
  fixture.transaction->repair();
  CHECK(fixture.stored().begin()->second.max == KHz{2'000'000});
  fixture.knobs().max = kBefore.max;
  fixture.transaction->repair();
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == kBefore);
}

TEST_CASE("an external frequency survives a restart but not a reboot") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.knobs() = kTheirs;
  fixture.transaction->repair();
  SUBCASE("restart") {
    fixture.start();
    CHECK(fixture.knobs() == kOurs);
    REQUIRE(fixture.remove(id));
    CHECK(fixture.knobs() == kTheirs);
  }
  SUBCASE("reboot") {
    fixture.hardware.reboot("boot-2");
    fixture.start();
    CHECK(fixture.knobs() == kOurs);
    REQUIRE(fixture.remove(id));
    CHECK(fixture.knobs() == kBefore);
  }
}

TEST_CASE("an external frequency between two observations is saved before it is overwritten") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.knobs() = kTheirs;
  SUBCASE("a delete") {
    REQUIRE(fixture.remove(id));
    CHECK(fixture.knobs() == kTheirs);
  }
  SUBCASE("a patch, and a delete later") {
    SpecPatch patch;
    patch.frequency = FrequencyRequest{.min = 10, .max = 20};
    REQUIRE(fixture.patch(id, patch));
    CHECK(fixture.knobs().max == KHz{2'000'000});
    CHECK(fixture.knobs().governor == "powersave");
    REQUIRE(fixture.remove(id));
    CHECK(fixture.knobs() == kTheirs);
  }
  CHECK(fixture.state().health.drift_repairs == 1);
}

// A workload with a frequency for CPU 4, which ends with its unit.
struct UnitFixture : CpuPoolFixture {
  explicit UnitFixture(const pstate::FrequencySetting& before) {
    knobs() = before;
    add_group(kUnit, {a_process(10)});
    Spec spec = for_unit(kUnit.name, {.pool = "fast", .cpus = CpuSet{4}});
    spec.cgroup_owner = CgroupOwner{};
    spec.frequency = FrequencyRequest{.min = 12, .max = 30};
    REQUIRE(create(spec));
    transaction->reap_tasks();
    REQUIRE(knobs().max == kOurs.max);
  }
  pstate::FrequencySetting& knobs() { return hardware.tree.pstate.cpus.edit().at(CpuId{4}); }
  void end_unit() { hardware.tree.cpuset.groups[kUnit].processes = {}; }
};

TEST_CASE("an external frequency is restored when a workload ends with its unit") {
  UnitFixture fixture(kBefore);
  fixture.knobs() = kTheirs;
  fixture.end_unit();
  fixture.transaction->reap_tasks();
  CHECK(fixture.state().workloads.size() == 0);
  CHECK(fixture.knobs() == kTheirs);
}

TEST_CASE("after hotplug the kernel's default is not taken for an external frequency of a workload that has ended") {
  UnitFixture fixture(kTheirs);
  fixture.knobs() = kBefore;
  fixture.end_unit();
  fixture.transaction->serve_hotplug({4});
  CHECK(fixture.state().workloads.size() == 0);
  CHECK(fixture.knobs() == kTheirs);
}

TEST_CASE("the result of a failed write is not taken for an external frequency") {
  Fixture fixture;
  const WorkloadId id = fixture.create("4-5");
  SpecPatch patch;
  patch.frequency = FrequencyRequest{.min = 10, .max = 20};
  // CPU 4 is written, CPU 5 is not, and what was written cannot be taken back at first.
  fixture.hardware.broken_from_write = fixture.hardware.writes + 2;
  REQUIRE_FALSE(fixture.patch(id, patch));
  CHECK(fixture.knobs().max == KHz{2'000'000});
  fixture.hardware.broken_from_write.reset();
  fixture.transaction->repair();
  CHECK(fixture.knobs() == kOurs);
  CHECK(fixture.stored().empty());
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == kBefore);
}

TEST_CASE("a kernel limit is not taken for an external frequency") {
  Fixture fixture;
  const WorkloadId id = fixture.create("4-5");
  fixture.knobs(4) = kTheirs;
  fixture.knobs(5).max = KHz{2'000'000};  // too hot
  fixture.hardware.stuck = {5};
  SUBCASE("seen by the drift check") {
    fixture.transaction->repair();
    CHECK(fixture.state().health.hardware_problem == "CPU is stuck");
    fixture.hardware.stuck = {};
    fixture.transaction->repair();
    CHECK(fixture.knobs(5) == kOurs);
    CHECK(fixture.state().health.hardware_problem.empty());
    REQUIRE(fixture.remove(id));
  }
  SUBCASE("seen by a delete") {
    REQUIRE(fixture.remove(id));
    CHECK(fixture.knobs(5).max == KHz{2'000'000});
    fixture.hardware.stuck = {};
    fixture.transaction->repair();
  }
  CHECK(fixture.knobs(4) == kTheirs);
  CHECK(fixture.knobs(5) == kBefore);
}

TEST_CASE("after hotplug the kernel's default is not taken for an external frequency") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.knobs() = {KHz{900'000}, KHz{3'100'000}, "performance", "performance"};
  fixture.transaction->serve_hotplug({4});
  CHECK(fixture.knobs() == kOurs);
  CHECK(fixture.stored().empty());
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == kBefore);
}

TEST_CASE("a workload gets its window even if the external frequency cannot be stored") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.knobs() = kTheirs;
  fixture.store.next_outcomes = {store::Committed::NotDone};
  fixture.transaction->repair();
  CHECK(fixture.knobs() == kOurs);
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == kBefore);
}

TEST_CASE("no frequency is written while the commit outcome is unknown") {
  Fixture fixture;
  const WorkloadId id = fixture.create();
  fixture.knobs() = kTheirs;
  fixture.store.next_outcomes = {store::Committed::Unknown};
  fixture.store.reopens = false;
  bool is_stored = false;
  SUBCASE("stored") { is_stored = true; }
  SUBCASE("not stored") {}
  fixture.store.unknown_is_stored = is_stored;
  fixture.transaction->repair();
  CHECK(fixture.knobs() == kTheirs);
  CHECK_FALSE(fixture.remove(id));
  fixture.store.reopens = true;
  fixture.transaction->repair();
  CHECK(fixture.knobs() == kOurs);
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs() == (is_stored ? kTheirs : kBefore));
}

TEST_CASE("a CPU that joins its domain later restores the external frequency") {
  Fixture fixture(NodeShape{.cpus_per_domain = 2});
  auto& facts = fixture.hardware.facts;
  const pstate::Cpu five = facts.pstate.cpus.at(CpuId{5});
  const auto go = [&] {
    facts.rdt.online.remove(CpuId{5});
    facts.pstate.cpus.edit().erase(CpuId{5});
  };
  go();
  fixture.transaction->repair();
  const WorkloadId id = fixture.create();
  fixture.knobs(4) = kTheirs;
  fixture.knobs(5) = kTheirs;
  fixture.transaction->repair();
  facts.rdt.online.add(CpuId{5});
  facts.pstate.cpus.edit()[CpuId{5}] = five;
  fixture.transaction->serve_hotplug({5});
  CHECK(fixture.stored().size() == 2);
  REQUIRE(fixture.remove(id));
  CHECK(fixture.knobs(4) == kTheirs);
  CHECK(fixture.knobs(5) == kTheirs);
  CHECK(fixture.stored().empty());
}

// Knob by knob: what is wanted, what is found, what was to be given back, what is to be given back.
TEST_CASE("a setting that matches is not taken for an external write") {
  struct Row {
    const char* what;
    pstate::FrequencySetting found;
    pstate::FrequencySetting given_back;
  };
  const KHz low{800'000}, high{3'500'000}, min = kOurs.min, max = kOurs.max;
  const Row rows[] = {
      {"nothing", kOurs, kBefore},
      {"the maximum",
       {min, KHz{2'000'000}, "powersave", "balance_performance"},
       {low, KHz{2'000'000}, "powersave", "balance_performance"}},
      {"the minimum",
       {KHz{2'000'000}, max, "powersave", "balance_performance"},
       {KHz{2'000'000}, high, "powersave", "balance_performance"}},
      {"a maximum that takes our minimum along",
       {KHz{1'000'000}, KHz{1'000'000}, "powersave", "balance_performance"},
       {low, KHz{1'000'000}, "powersave", "balance_performance"}},
      {"the governor", {min, max, "performance", "performance"}, {low, high, "performance", "performance"}},
      {"the preference, which cannot be read", {min, max, "powersave", ""}, kBefore},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Fixture fixture;
    fixture.create();
    NodeState state = fixture.state();
    state.observed.pstate.cpus.edit()[CpuId{4}] = row.found;
    const auto written = written_by_others(state, {.cpus = {{CpuId{4}, kOurs}}, .put_back = {}}, {});
    CHECK(written.size() == (row.given_back == kBefore ? 0 : 1));
    if (!written.empty()) CHECK(written.at(CpuId{4}) == row.given_back);
    CHECK(written_by_others(state, {.cpus = {{CpuId{4}, kOurs}}, .put_back = {}}, {4}).empty());
  }
}

}  // namespace nrd::external_frequencies_test
