#include "engine/transaction/hotplug_refresh.h"

// CPUs that come and go while the daemon runs: when the engine looks for them, and what it finds.

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>

#include "engine/transaction/engine.h"
#include "engine/transaction/engine_config.h"
#include "tests/unit/engine/fake_node.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::hotplug_refresh_test {

using namespace nrd::testing;
using namespace std::chrono_literals;

namespace {

constexpr HotplugRefresh::Steady kStart{std::chrono::hours(1)};

// As the kernel does it: the CPU comes back in the default class, with the frequencies of boot.
void set_offline(FakeHardware& hardware, CpuId cpu) {
  hardware.facts.rdt.online.remove(cpu);
  for (auto& [clos, group] : hardware.tree.rdt.classes) group.cpus.remove(cpu);
  hardware.facts.pstate.cpus.edit().erase(cpu);
  hardware.tree.pstate.cpus.edit().erase(cpu);
}

void set_online(FakeHardware& hardware, CpuId cpu, const pstate::Cpu& facts, const pstate::FrequencySetting& knobs) {
  hardware.facts.rdt.online.add(cpu);
  hardware.tree.rdt.classes.at(ClosId{0}).cpus.add(cpu);
  hardware.facts.pstate.cpus.edit()[cpu] = facts;
  hardware.tree.pstate.cpus.edit()[cpu] = knobs;
}

}  // namespace

TEST_CASE("a hotplug event is handled at once, a burst once per 20 ms") {
  HotplugRefresh looks;
  CHECK_FALSE(looks.next());
  looks.note({}, kStart);
  CHECK_FALSE(looks.next());
  looks.note({3}, kStart);
  CHECK(looks.is_due(kStart));
  CHECK(looks.changed() == CpuSet{3});
  looks.completed(true, kStart + 5ms);
  CHECK_FALSE(looks.next());
  CHECK(looks.changed().empty());
  looks.note({4}, kStart + 6ms);
  looks.note({5}, kStart + 7ms);
  CHECK(looks.next() == kStart + 25ms);
  CHECK(looks.changed() == CpuSet{4, 5});
}

TEST_CASE("a change after a hotplug event waits for no interval") {
  HotplugRefresh looks;
  looks.completed(true, kStart);
  looks.note({4}, kStart + 1ms);
  CHECK_FALSE(looks.is_due(kStart + 1ms));
  CHECK(looks.has_news());
  looks.completed(true, kStart + 2ms);
  CHECK_FALSE(looks.has_news());
}

TEST_CASE("missing CPU files are retried a limited number of times") {
  HotplugRefresh looks;
  HotplugRefresh::Steady now = kStart;
  looks.note({4}, now);
  unsigned count = 0;
  for (; looks.next(); ++count) {
    CHECK(looks.changed() == CpuSet{4});
    now = *looks.next();
    looks.completed(false, now);
  }
  CHECK(count == 1 + HotplugRefresh::kMaxRetries);
  CHECK(now - kStart < 2s);
  looks.note({5}, now);
  looks.completed(false, now);
  CHECK(looks.next() == now + 20ms);
}

TEST_CASE("a CPU that comes online gets class and frequency with its event") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  std::mutex lock;
  CpuSet changed;
  const auto take = [&lock, &changed] {
    const std::lock_guard hold(lock);
    return std::exchange(changed, {});
  };
  std::atomic<uint64_t> published{0};
  auto engine =
      *Engine::start(hardware, store, clock, {.drift_interval = 1h}, {.changed_cpus = take, .published = [&published] {
                                                                        ++published;
                                                                        published.notify_all();
                                                                      }});
  const auto tell = [&](CpuId cpu) {
    const uint64_t before = published;
    {
      const std::lock_guard hold(lock);
      changed.add(cpu);
    }
    engine->refresh_cpus();
    published.wait(before);
  };
  REQUIRE(submit(*engine, CreateWorkload{a_spec("4-5").ways(2, 2).frequency({.min = 12, .max = 30})}));
  const ClosId clos = engine->state()->workloads.begin()->second.grant.clos;
  const pstate::Cpu facts = hardware.facts.pstate.cpus.at(CpuId{5});
  const pstate::FrequencySetting wanted = hardware.tree.pstate.cpus.at(CpuId{5});

  set_offline(hardware, CpuId{5});
  tell(CpuId{5});
  CHECK_FALSE(engine->state()->facts.rdt.online.contains(CpuId{5}));

  set_online(hardware, CpuId{5}, facts, {KHz{800'000}, KHz{3'500'000}, wanted.governor, wanted.epp});
  tell(CpuId{5});
  CHECK(engine->state()->facts.rdt.online.contains(CpuId{5}));
  CHECK(engine->state()->health.drift_repairs == 0);
  engine.reset();
  CHECK(hardware.tree.rdt.classes.at(clos).cpus == CpuSet{4, 5});
  CHECK(hardware.tree.pstate.cpus.at(CpuId{5}) == wanted);
}

TEST_CASE("a change is planned without a CPU that just went offline") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  CpuSet changed;
  const auto take = [&changed] { return std::exchange(changed, {}); };
  auto engine = *Engine::start(hardware, store, clock, {.drift_interval = 1h}, {.changed_cpus = take});
  set_offline(hardware, CpuId{5});
  changed.add(CpuId{5});
  CHECK(error_of(submit(*engine, CreateWorkload{a_spec("5").ways(1, 1)})).code == ErrorCode::BadRequest);
  CHECK_FALSE(engine->state()->facts.rdt.online.contains(CpuId{5}));
}

TEST_CASE("a CPU that went offline and online between two observations is no drift") {
  TransactionFixture fixture;
  fixture.start();
  const auto made = value_of(fixture.create(a_spec("4-5").ways(2, 2)));
  for (auto& [clos, group] : fixture.hardware.tree.rdt.classes) group.cpus.remove(CpuId{5});
  fixture.hardware.tree.rdt.classes.at(ClosId{0}).cpus.add(CpuId{5});
  CHECK(fixture.transaction->serve_hotplug({5}));
  CHECK(fixture.cpus(made.grant.clos.value) == "4-5");
  CHECK(fixture.state().health.drift_repairs == 0);
}

TEST_CASE("a workload is not applied until the frequency of its new CPU is set") {
  TransactionFixture fixture;
  fixture.start();
  REQUIRE(fixture.create(a_spec("4-5").no_cache().frequency({.min = 12, .max = 30})));
  const pstate::Cpu facts = fixture.hardware.facts.pstate.cpus.at(CpuId{5});
  const pstate::FrequencySetting before = fixture.hardware.tree.pstate.cpus.at(CpuId{6});
  set_offline(fixture.hardware, CpuId{5});
  CHECK(fixture.transaction->serve_hotplug({5}));
  // Online, but its driver has not taken it yet.
  fixture.hardware.facts.rdt.online.add(CpuId{5});
  CHECK_FALSE(fixture.transaction->serve_hotplug({5}));
  set_online(fixture.hardware, CpuId{5}, facts, before);
  CHECK(fixture.transaction->serve_hotplug({5}));
  CHECK(fixture.hardware.tree.pstate.cpus.at(CpuId{5}).max == KHz{3'000'000});
}

}  // namespace nrd::hotplug_refresh_test
