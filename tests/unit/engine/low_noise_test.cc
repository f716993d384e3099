// Interrupts and other work of the kernel through the engine: off the CPUs of low-noise pools, and as before
// afterwards.
#include <doctest/doctest.h>

#include "engine/model/cpu_noise.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::low_noise_test {

using nrd::testing::value_of;

using Kind = nrd::cpuset::NoiseSource::Kind;

namespace {

NodeConfig with_pools(bool fast, bool slow = false) {
  NodeConfig config;
  config.groups.os = CpuSet{0, 1};
  config.cpu_pools = {{.name = "fast", .cpus = *CpuSet::parse("2-7"), .low_noise = fast},
                      {.name = "slow", .cpus = *CpuSet::parse("10-15"), .low_noise = slow}};
  return config;
}

cpuset::NoiseSource interrupt(uint32_t number) { return {Kind::Interrupt, number}; }

// 16 CPUs. Interrupt 30 runs anywhere, 31 on CPUs of the pool, 32 elsewhere; the kernel manages 33.
struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(bool fast = true) : TransactionFixture({}, with_pools(fast)) {
    move(30, "0-15");
    move(31, "2-3");
    move(32, "9");
    move(33, "4");
    hardware.immovable = {interrupt(33)};
  }
  void move(uint32_t number, const char* cpus) { hardware.tree.cpuset.noise[interrupt(number)] = *CpuSet::parse(cpus); }
  std::string place(const cpuset::NoiseSource& source) const {
    return hardware.tree.cpuset.noise.at(source).to_string();
  }
  // Of the interrupts, unbound workqueues and the watchdog.
  std::string places() const {
    std::string text;
    for (uint32_t number = 30; number <= 33; ++number) text += place(interrupt(number)) + " ";
    return text + place({Kind::NewInterrupts, 0}) + " " + place({Kind::Workqueues, 0}) + " " +
           place({Kind::Watchdog, 0});
  }
  Result<void> reload(bool fast, bool slow = false) {
    return transaction->reconfigure(with_pools(fast, slow), ReloadMode::Apply);
  }
};

struct StartedFixture : Fixture {
  explicit StartedFixture(bool fast = true) : Fixture(fast) { start(); }
};

constexpr const char* kBefore = "0-15 2-3 9 4 0-15 0-15 0-15";
constexpr const char* kQuiet = "0-1,8-15 0-1,8-15 9 4 0-1,8-15 0-1,8-15 0-1,8-15";

}  // namespace

TEST_CASE("without the key nothing is observed or written") {
  StartedFixture fixture(false);
  fixture.transaction->repair();
  CHECK(fixture.places() == kBefore);
  CHECK(fixture.state().observed.cpuset.noise.empty());
  CHECK(fixture.store.baselines().noise.empty());
}

TEST_CASE("work returns to the CPUs of one of two pools") {
  StartedFixture fixture;
  REQUIRE(fixture.reload(true, true));
  CHECK(fixture.places() == "0-1,8-9 0-1,8-9 9 4 0-1,8-9 0-1,8-9 0-1,8-9");
  REQUIRE(fixture.reload(true));
  CHECK(fixture.places() == kQuiet);
  REQUIRE(fixture.reload(false, true));
  CHECK(fixture.places() == "0-9 2-3 9 4 0-9 0-9 0-9");
  REQUIRE(fixture.reload(false));
  CHECK(fixture.places() == kBefore);
}

TEST_CASE("a restart and a start without the pools") {
  StartedFixture fixture;
  fixture.start();
  CHECK(fixture.places() == kQuiet);
  CHECK(fixture.store.baselines().noise.at(interrupt(30)).before.to_string() == "0-15");
  fixture.config.cpu_pools.clear();
  fixture.start();
  CHECK(fixture.places() == kBefore);
}

TEST_CASE("an interrupt that appears is moved, one that disappears is forgotten") {
  StartedFixture fixture;
  fixture.move(40, "0-15");
  fixture.hardware.tree.cpuset.noise.erase(interrupt(31));
  fixture.transaction->repair();
  CHECK(fixture.place(interrupt(40)) == "0-1,8-15");
  CHECK(fixture.state().health.drift_repairs == 0);
  REQUIRE(fixture.reload(false));
  CHECK(fixture.place(interrupt(40)) == "0-15");
}

TEST_CASE("a managed interrupt is tried once, and is no problem") {
  StartedFixture fixture;
  const uint64_t writes = fixture.hardware.writes;
  fixture.transaction->repair();
  fixture.transaction->repair();
  CHECK(fixture.hardware.writes == writes);
  CHECK(is_ok(fixture.state()));
  CHECK(fixture.state().health.drift_repairs == 0);
}

TEST_CASE("an interrupt that refuses to move back is claimed until it does, also across a restart") {
  for (const bool restarts : {false, true}) {
    CAPTURE(restarts);
    StartedFixture fixture;
    fixture.hardware.immovable.insert(interrupt(31));
    REQUIRE(fixture.reload(false));
    CHECK(fixture.places() == "0-15 0-1,8-15 9 4 0-15 0-15 0-15");
    CHECK(fixture.store.baselines().noise.size() == 1);
    fixture.config = with_pools(false);
    if (restarts) fixture.start();
    fixture.transaction->repair();
    CHECK(fixture.store.baselines().noise.at(interrupt(31)).before.to_string() == "2-3");
    CHECK(fixture.state().health.drift_repairs == 0);
    CHECK(is_ok(fixture.state()));
    fixture.hardware.immovable.erase(interrupt(31));
    fixture.transaction->repair();
    CHECK(fixture.places() == kBefore);
    CHECK(fixture.store.baselines().noise.empty());
  }
}

TEST_CASE("an interrupt always keeps an online CPU") {
  Fixture fixture;
  fixture.move(30, "2,14");
  fixture.hardware.facts.rdt.online.remove(CpuId{14});
  fixture.start();
  CHECK(fixture.place(interrupt(30)) == "0-1,8-13,15");
}

TEST_CASE("a crash at any write, and then a start with or without the key") {
  for (uint64_t point = 1; point <= 5; ++point) {
    for (const bool still : {true, false}) {
      CAPTURE(point);
      CAPTURE(still);
      StartedFixture fixture(false);
      fixture.hardware.broken_from_write = fixture.hardware.writes + point;
      CHECK_FALSE(fixture.reload(true));
      fixture.hardware.broken_from_write.reset();
      fixture.config = with_pools(still);
      fixture.start();
      CHECK(fixture.places() == (still ? kQuiet : kBefore));
    }
  }
}

TEST_CASE("a crash between two pools keeps what was before the first") {
  for (uint64_t point = 1; point <= 5; ++point) {
    CAPTURE(point);
    StartedFixture fixture;
    fixture.hardware.broken_from_write = fixture.hardware.writes + point;
    CHECK_FALSE(fixture.reload(true, true));
    fixture.hardware.broken_from_write.reset();
    fixture.start();
    CHECK(fixture.places() == kQuiet);
    REQUIRE(fixture.reload(false));
    CHECK(fixture.places() == kBefore);
  }
}

TEST_CASE("a request for CPUs writes no noise") {
  StartedFixture fixture;
  const uint64_t writes = fixture.hardware.writes;
  Spec spec;
  spec.cpu = CpuRequest{.pool = "fast", .count = 2};
  const auto workload = value_of(fixture.create(spec));
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.writes == writes);
  CHECK(fixture.places() == kQuiet);
}

}  // namespace nrd::low_noise_test
