// What others write on frequencies that are set for workloads.
#include <doctest/doctest.h>

#include "engine/model/baselines.h"
#include "tests/unit/engine/fixtures.h"

using namespace nrd;
using namespace nrd::testing;

namespace {

const pstate::FrequencySetting kBefore{KHz{800'000}, KHz{3'500'000}, "powersave", "balance_performance"};
const pstate::FrequencySetting kOurs{KHz{1'200'000}, KHz{3'000'000}, "powersave", "balance_performance"};
const pstate::FrequencySetting kTheirs{KHz{1'000'000}, KHz{2'000'000}, "performance", "performance"};

struct House : WriterHouse {
  explicit House(const NodeShape& shape = {}) : WriterHouse(shape) { start(); }

  WorkloadId create(const std::string& cpus = "4") {
    const auto made =
        WriterHouse::create(a_spec(cpus).no_cache().frequency({.min = 12, .max = 30, .shared_domain = kAllow}));
    REQUIRE(made);
    return made->id;
  }
  pstate::FrequencySetting& knobs(uint32_t cpu = 4) { return hardware.tree.pstate.cpus.at(CpuId{cpu}); }
  const std::vector<store::FrequencyRecord>& stored() const { return store.records.baselines.frequencies_of_others; }

 private:
  static constexpr auto kAllow = FrequencyRequest::SharedDomain::Allow;
};

}  // namespace

TEST_CASE("what others write on a CPU of a workload is put back, and given back at the end") {
  House house;
  const WorkloadId id = house.create();
  CHECK(house.knobs() == kOurs);
  house.knobs() = kTheirs;
  house.writer->repair();
  CHECK(house.knobs() == kOurs);
  CHECK(house.state().health.drift_repairs == 1);
  REQUIRE(house.stored().size() == 1);
  REQUIRE(house.remove(id));
  CHECK(house.knobs() == kTheirs);
  CHECK(house.stored().empty());
  CHECK(house.store.records.baselines.frequencies.empty());
}

TEST_CASE("what others wrote last counts, also if it is what was there before") {
  House house;
  const WorkloadId id = house.create();
  house.knobs().max = KHz{2'000'000};
  house.writer->repair();
  CHECK(house.stored().front().max == KHz{2'000'000});
  house.knobs().max = kBefore.max;
  house.writer->repair();
  REQUIRE(house.remove(id));
  CHECK(house.knobs() == kBefore);
}

TEST_CASE("what others wrote outlives a restart, and not a reboot") {
  House house;
  const WorkloadId id = house.create();
  house.knobs() = kTheirs;
  house.writer->repair();
  SUBCASE("restart") {
    house.start();
    CHECK(house.knobs() == kOurs);
    REQUIRE(house.remove(id));
    CHECK(house.knobs() == kTheirs);
  }
  SUBCASE("reboot") {
    house.hardware.reboot("boot-2");
    house.start();
    CHECK(house.knobs() == kOurs);
    REQUIRE(house.remove(id));
    CHECK(house.knobs() == kBefore);
  }
}

TEST_CASE("what others write between two looks is remembered by the change that overwrites it") {
  House house;
  const WorkloadId id = house.create();
  house.knobs() = kTheirs;
  SUBCASE("a delete") {
    REQUIRE(house.remove(id));
    CHECK(house.knobs() == kTheirs);
  }
  SUBCASE("a patch, and a delete later") {
    SpecPatch patch;
    patch.frequency = FrequencyRequest{.min = 10, .max = 20};
    REQUIRE(house.patch(id, patch));
    CHECK(house.knobs().max == KHz{2'000'000});
    CHECK(house.knobs().governor == "powersave");
    REQUIRE(house.remove(id));
    CHECK(house.knobs() == kTheirs);
  }
  CHECK(house.state().health.drift_repairs == 1);
}

TEST_CASE("what a failed write of ours leaves is not taken for others' value") {
  House house;
  const WorkloadId id = house.create("4-5");
  SpecPatch patch;
  patch.frequency = FrequencyRequest{.min = 10, .max = 20};
  // CPU 4 is written, CPU 5 is not, and what was written cannot be taken back at first.
  house.hardware.broken_from_write = house.hardware.writes + 2;
  REQUIRE_FALSE(house.patch(id, patch));
  CHECK(house.knobs().max == KHz{2'000'000});
  house.hardware.broken_from_write.reset();
  house.writer->repair();
  CHECK(house.knobs() == kOurs);
  CHECK(house.stored().empty());
  REQUIRE(house.remove(id));
  CHECK(house.knobs() == kBefore);
}

TEST_CASE("a limit that the kernel sets is not taken for others' value") {
  House house;
  const WorkloadId id = house.create("4-5");
  house.knobs(4) = kTheirs;
  house.knobs(5).max = KHz{2'000'000};  // too hot
  house.hardware.stuck = {5};
  SUBCASE("seen at a look") {
    house.writer->repair();
    CHECK(house.state().health.hardware_problem == "CPU is stuck");
    house.hardware.stuck = {};
    house.writer->repair();
    CHECK(house.knobs(5) == kOurs);
    CHECK(house.state().health.hardware_problem.empty());
    REQUIRE(house.remove(id));
  }
  SUBCASE("seen at a delete") {
    REQUIRE(house.remove(id));
    CHECK(house.knobs(5).max == KHz{2'000'000});
    house.hardware.stuck = {};
    house.writer->repair();
  }
  CHECK(house.knobs(4) == kTheirs);
  CHECK(house.knobs(5) == kBefore);
}

TEST_CASE("a CPU that went and came back has what the kernel gave it, not what others wrote") {
  House house;
  const WorkloadId id = house.create();
  house.knobs() = {KHz{900'000}, KHz{3'100'000}, "performance", "performance"};
  house.writer->serve_hotplug({4});
  CHECK(house.knobs() == kOurs);
  CHECK(house.stored().empty());
  REQUIRE(house.remove(id));
  CHECK(house.knobs() == kBefore);
}

TEST_CASE("if it cannot be stored the workload has its window all the same") {
  House house;
  const WorkloadId id = house.create();
  house.knobs() = kTheirs;
  house.store.next_outcomes = {store::Committed::NotDone};
  house.writer->repair();
  CHECK(house.knobs() == kOurs);
  REQUIRE(house.remove(id));
  CHECK(house.knobs() == kBefore);
}

TEST_CASE("nothing is written while it is not known whether it is stored") {
  House house;
  const WorkloadId id = house.create();
  house.knobs() = kTheirs;
  house.store.next_outcomes = {store::Committed::Unknown};
  house.store.reopens = false;
  bool is_stored = false;
  SUBCASE("stored") { is_stored = true; }
  SUBCASE("not stored") {}
  house.store.unknown_is_stored = is_stored;
  house.writer->repair();
  CHECK(house.knobs() == kTheirs);
  CHECK_FALSE(house.remove(id));
  house.store.reopens = true;
  house.writer->repair();
  CHECK(house.knobs() == kOurs);
  REQUIRE(house.remove(id));
  if (is_stored) CHECK(house.knobs() == kTheirs);
}

TEST_CASE("a CPU that joins its domain later gives back what others wrote there") {
  House house(NodeShape{.cpus_per_domain = 2});
  auto& facts = house.hardware.facts;
  const pstate::Cpu five = facts.pstate.cpus.at(CpuId{5});
  const auto go = [&] {
    facts.rdt.online.remove(CpuId{5});
    facts.pstate.cpus.edit().erase(CpuId{5});
  };
  go();
  house.writer->repair();
  const WorkloadId id = house.create();
  house.knobs(4) = house.knobs(5) = kTheirs;
  house.writer->repair();
  facts.rdt.online.add(CpuId{5});
  facts.pstate.cpus.edit()[CpuId{5}] = five;
  house.writer->serve_hotplug({5});
  CHECK(house.stored().size() == 2);
  REQUIRE(house.remove(id));
  CHECK(house.knobs(4) == kTheirs);
  CHECK(house.knobs(5) == kTheirs);
  CHECK(house.stored().empty());
}

// Knob by knob: what is wanted, what is found, what was to be given back, what is to be given back.
TEST_CASE("a knob that is as wanted was not written by others") {
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
    House house;
    house.create();
    NodeState state = house.state();
    state.observed.pstate.cpus[CpuId{4}] = row.found;
    const auto written = written_by_others(state, {.cpus = {{CpuId{4}, kOurs}}, .put_back = {}}, {});
    CHECK(written.size() == (row.given_back == kBefore ? 0 : 1));
    if (!written.empty()) CHECK(written.at(CpuId{4}) == row.given_back);
    CHECK(written_by_others(state, {.cpus = {{CpuId{4}, kOurs}}, .put_back = {}}, {4}).empty());
  }
}
