// Limits of idle states through the engine: of granted CPUs only, and as before afterwards, whatever fails in between.
#include "engine/model/cpu_noise.h"

#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_noise_test {

using namespace nrd::testing;

namespace {

NodeConfig with_limit(std::optional<uint32_t> latency_us) {
  NodeConfig config;
  config.groups.os = CpuSet{0, 1};
  config.cpu_pools = {{.name = "fast", .cpus = *CpuSet::parse("2-7"), .latency_us = latency_us},
                      {.name = "slow", .cpus = *CpuSet::parse("10-15")}};
  return config;
}

Spec for_cpus(uint32_t count, const char* pool = "fast") {
  Spec spec;
  spec.cpu = CpuRequest{.pool = pool, .count = count};
  return spec;
}

struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(std::optional<uint32_t> latency_us = 0)
      : TransactionFixture(with_threads(), with_limit(latency_us)) {
    hardware.tree.cpuset.latency[CpuId{4}] = "70";  // of other software
    start();
  }
  // Of the CPUs 2 to 7.
  std::string limits() const {
    std::string text;
    for (uint32_t cpu = 2; cpu <= 7; ++cpu)
      text += (text.empty() ? "" : " ") + hardware.tree.cpuset.latency.at(CpuId{cpu});
    return text;
  }
  void set(uint32_t cpu, const char* limit) { hardware.tree.cpuset.latency[CpuId{cpu}] = limit; }
  Result<void> reload(std::optional<uint32_t> latency_us) {
    return transaction->reconfigure(with_limit(latency_us), ReloadMode::Apply);
  }
};

constexpr const char* kBefore = "0 0 70 0 0 0";

}  // namespace

TEST_CASE("granted CPUs of a pool enter no idle state, and get their limits back") {
  Fixture fixture;
  CHECK(fixture.limits() == kBefore);
  const auto workload = value_of(fixture.create(for_cpus(2)));
  CHECK(workload.grant.cpu->exclusive.to_string() == "2,4");
  CHECK(fixture.limits() == "n/a 0 n/a 0 0 0");  // not of the idle siblings
  CHECK(is_applied(fixture.state(), workload));
  CHECK(fixture.store.baselines().latency == std::map<CpuId, cpuset::LatencyLimit>{{CpuId{2}, "0"}, {CpuId{4}, "70"}});
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.limits() == kBefore);
  CHECK(fixture.store.baselines().latency.empty());
}

TEST_CASE("a limit is in microseconds, and of its pool") {
  Fixture fixture(20);
  REQUIRE(fixture.create(for_cpus(1)));
  REQUIRE(fixture.create(for_cpus(1, "slow")));
  CHECK(fixture.limits() == "20 0 70 0 0 0");
  CHECK(fixture.hardware.tree.cpuset.latency.at(CpuId{10}) == "0");
}

TEST_CASE("CPUs of a pool that are requested by number are limited as well") {
  Fixture fixture;
  REQUIRE(fixture.create(nrd::testing::a_spec("3-4")));
  CHECK(fixture.limits() == "0 n/a n/a 0 0 0");
}

TEST_CASE("a workload that releases a CPU releases its limit") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(for_cpus(3)));
  CHECK(fixture.limits() == "n/a 0 n/a 0 n/a 0");
  REQUIRE(fixture.patch(workload.id, {.cpu = nrd::testing::members<CpuRequest>(R"({"count": 1})")}));
  CHECK(fixture.store.baselines().latency.size() == 1);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.limits() == kBefore);
}

TEST_CASE("a change of another workload writes no limit") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus(2)));
  const uint64_t writes = fixture.hardware.writes;
  REQUIRE(fixture.create(for_cpus(1, "slow")));
  CHECK(fixture.hardware.writes == writes);
}

TEST_CASE("a failed write at any position leaves all limits as before") {
  Spec spec = for_cpus(3);
  spec.cache = CacheRequest{.max = 2, .min = 2};
  check_failed_writes<Fixture>(spec, 6);
}

TEST_CASE("a crash at any write leaves all limits as before after the next start") {
  for (uint64_t point = 1;; ++point) {
    CAPTURE(point);
    Fixture fixture;
    const Observed before = fixture.hardware.tree;
    fixture.hardware.broken_from_write = fixture.hardware.writes + point;
    const bool is_done = fixture.create(for_cpus(3)).has_value();
    fixture.hardware.broken_from_write.reset();
    if (is_done) {
      CHECK(point == 4);
      break;
    }
    fixture.start();
    fixture.transaction->repair();
    CHECK(fixture.hardware.tree == before);
    CHECK(fixture.store.baselines().latency.empty());
  }
}

TEST_CASE("a workload that cannot be stored leaves all limits as before") {
  for (const auto& outcomes :
       {std::deque{store::Committed::NotDone}, std::deque{store::Committed::Done, store::Committed::NotDone},
        std::deque{store::Committed::Done, store::Committed::Unknown}}) {
    Fixture fixture;
    fixture.store.next_outcomes = outcomes;
    CHECK_FALSE(fixture.create(for_cpus(2)));
    CHECK(fixture.limits() == kBefore);
    fixture.transaction->repair();
    CHECK(fixture.store.baselines().latency.empty());
  }
}

TEST_CASE("other software changes a limit: nrd repairs it, and restores the one from before the grant") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(for_cpus(2)));
  fixture.set(4, "5");
  fixture.transaction->repair();
  CHECK(fixture.limits() == "n/a 0 n/a 0 0 0");
  CHECK(fixture.state().health.drift_repairs == 1);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.limits() == kBefore);
}

TEST_CASE("a limit that other software changes while no workload has the CPU is the one to restore") {
  Fixture fixture;
  fixture.set(2, "9");
  const auto workload = value_of(fixture.create(for_cpus(1)));
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.limits() == "9 0 70 0 0 0");
}

TEST_CASE("a CPU that goes offline gets its limit back, and is limited again when it returns") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus(2)));
  fixture.hardware.facts.rdt.online.remove(CpuId{4});
  fixture.transaction->repair();
  CHECK(fixture.limits() == "n/a 0 70 0 0 0");
  fixture.hardware.facts.rdt.online.add(CpuId{4});
  CHECK(fixture.transaction->serve_hotplug(CpuSet{4}));
  CHECK(fixture.limits() == "n/a 0 n/a 0 0 0");
  CHECK(fixture.state().health.drift_repairs == 0);
  // Removed from the host: there is nothing to restore.
  fixture.hardware.facts.rdt.online.remove(CpuId{4});
  fixture.hardware.tree.cpuset.latency.erase(CpuId{4});
  fixture.transaction->repair();
  CHECK(fixture.store.baselines().latency.size() == 1);
  CHECK(fixture.state().health.hardware_problem.empty());
}

TEST_CASE("a reload changes the limits of granted CPUs") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus(2)));
  REQUIRE(fixture.reload(30));
  CHECK(fixture.limits() == "30 0 30 0 0 0");
  REQUIRE(fixture.reload(std::nullopt));
  CHECK(fixture.limits() == kBefore);
  CHECK(fixture.store.baselines().latency.empty());
  fixture.hardware.fail_at_write = fixture.hardware.writes + 2;
  CHECK_FALSE(fixture.reload(0));
  CHECK(fixture.limits() == kBefore);
  REQUIRE(fixture.reload(0));
  CHECK(fixture.limits() == "n/a 0 n/a 0 0 0");
}

TEST_CASE("a start without the pool restores its limits") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus(2)));
  fixture.config.cpu_pools.clear();
  fixture.start();
  CHECK(fixture.limits() == kBefore);
  fixture.transaction->repair();
  CHECK(fixture.store.baselines().latency.empty());
}

TEST_CASE("a CPU whose limit cannot be read is not granted") {
  Fixture fixture;
  fixture.hardware.tree.cpuset.latency.erase(CpuId{2});
  fixture.transaction->repair();
  const Error refused = error_of(fixture.create(for_cpus(1)));
  CHECK(refused.code == ErrorCode::Hardware);
  CHECK(refused.message.find("CPU 2 cannot be read now") != std::string::npos);
}

TEST_CASE("a dry run lists the limits") {
  Fixture fixture;
  const auto planned = value_of(fixture.dry_run(CreateWorkload{for_cpus(1)}));
  REQUIRE(planned.changes.size() == 1);
  CHECK(text_of(planned.changes.front()) == "idle latency limit of CPU 2: 0, not n/a");
}

}  // namespace nrd::cpu_noise_test
