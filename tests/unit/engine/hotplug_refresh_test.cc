// CPUs that come and go while the daemon runs: when the engine looks for them, and what it finds.
#include "engine/transaction/hotplug_refresh.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <mutex>

#include "engine/transaction/engine.h"
#include "tests/unit/engine/fake_node.h"
#include "tests/unit/engine/fixtures.h"

using namespace nrd;
using namespace nrd::testing;
using namespace std::chrono_literals;

namespace {

constexpr HotplugRefresh::Steady kStart{std::chrono::hours(1)};

// As the kernel does it: the CPU comes back in the default class, with the frequencies of boot.
void set_offline(FakeHardware& hardware, CpuId cpu) {
  hardware.facts.rdt.online.remove(cpu);
  for (auto& [clos, group] : hardware.tree.rdt.classes) group.cpus.remove(cpu);
  hardware.facts.pstate.cpus.edit().erase(cpu);
  hardware.tree.pstate.cpus.erase(cpu);
}

void set_online(FakeHardware& hardware, CpuId cpu, const pstate::Cpu& facts, const pstate::FrequencySetting& knobs) {
  hardware.facts.rdt.online.add(cpu);
  hardware.tree.rdt.classes.at(ClosId{0}).cpus.add(cpu);
  hardware.facts.pstate.cpus.edit()[cpu] = facts;
  hardware.tree.pstate.cpus[cpu] = knobs;
}

}  // namespace

TEST_CASE("an event is looked at at once, a burst of them once in 20 ms") {
  HotplugRefresh looks;
  CHECK_FALSE(looks.next());
  looks.note({}, kStart);
  CHECK_FALSE(looks.next());
  looks.note({3}, kStart);
  CHECK(looks.is_due(kStart));
  CHECK(looks.changed() == CpuSet{3});
  looks.looked(true, kStart + 5ms);
  CHECK_FALSE(looks.next());
  CHECK(looks.changed().empty());
  looks.note({4}, kStart + 6ms);
  looks.note({5}, kStart + 7ms);
  CHECK(looks.next() == kStart + 25ms);
  CHECK(looks.changed() == CpuSet{4, 5});
}

TEST_CASE("a change that comes after an event waits for no interval") {
  HotplugRefresh looks;
  looks.looked(true, kStart);
  looks.note({4}, kStart + 1ms);
  CHECK_FALSE(looks.is_due(kStart + 1ms));
  CHECK(looks.has_news());
  looks.looked(true, kStart + 2ms);
  CHECK_FALSE(looks.has_news());
}

TEST_CASE("what is not there yet is looked for again, but not for ever") {
  HotplugRefresh looks;
  HotplugRefresh::Steady now = kStart;
  looks.note({4}, now);
  unsigned count = 0;
  for (; looks.next(); ++count) {
    CHECK(looks.changed() == CpuSet{4});
    now = *looks.next();
    looks.looked(false, now);
  }
  CHECK(count == 1 + HotplugRefresh::kAgain);
  CHECK(now - kStart < 2s);
  looks.note({5}, now);
  looks.looked(false, now);
  CHECK(looks.next() == now + 20ms);
}

TEST_CASE("a CPU that comes back gets class and frequency with the event, not with the drift interval") {
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
      *Engine::start(hardware, store, clock, {.drift_interval = 1h, .changed_cpus = take, .published = [&published] {
                                                ++published;
                                                published.notify_all();
                                              }});
  const auto submit = [&engine](Command command) {
    std::promise<Outcome> promise;
    engine->submit(std::move(command), [&promise](Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  };
  const auto tell = [&](CpuId cpu) {
    const uint64_t before = published;
    {
      const std::lock_guard hold(lock);
      changed.add(cpu);
    }
    engine->look_for_cpus();
    published.wait(before);
  };
  REQUIRE(submit(CreateWorkload{a_spec("4-5").ways(2, 2).frequency({.min = 12, .max = 30})}));
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

TEST_CASE("a CPU that has gone is known before a change is planned, though no thread told of it yet") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  CpuSet changed;
  const auto take = [&changed] { return std::exchange(changed, {}); };
  auto engine = *Engine::start(hardware, store, clock, {.drift_interval = 1h, .changed_cpus = take});
  set_offline(hardware, CpuId{5});
  changed.add(CpuId{5});
  std::promise<Outcome> promise;
  engine->submit(CreateWorkload{a_spec("5").ways(1, 1)},
                 [&promise](Outcome outcome) { promise.set_value(std::move(outcome)); });
  const Outcome outcome = promise.get_future().get();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::BadRequest);
  CHECK_FALSE(engine->state()->facts.rdt.online.contains(CpuId{5}));
}

TEST_CASE("a CPU that went and came back between two looks is no drift") {
  WriterHouse house;
  house.start();
  const auto made = house.create(a_spec("4-5").ways(2, 2));
  REQUIRE(made);
  for (auto& [clos, group] : house.hardware.tree.rdt.classes) group.cpus.remove(CpuId{5});
  house.hardware.tree.rdt.classes.at(ClosId{0}).cpus.add(CpuId{5});
  CHECK(house.writer->serve_hotplug({5}));
  CHECK(house.cpus(made->grant.clos.value) == "4-5");
  CHECK(house.state().health.drift_repairs == 0);
}

TEST_CASE("while the frequency of a CPU that came cannot be set yet, its workload is not whole") {
  WriterHouse house;
  house.start();
  REQUIRE(house.create(a_spec("4-5").no_cache().frequency({.min = 12, .max = 30})));
  const pstate::Cpu facts = house.hardware.facts.pstate.cpus.at(CpuId{5});
  const pstate::FrequencySetting before = house.hardware.tree.pstate.cpus.at(CpuId{6});
  set_offline(house.hardware, CpuId{5});
  CHECK(house.writer->serve_hotplug({5}));
  // Online, but its driver has not taken it yet.
  house.hardware.facts.rdt.online.add(CpuId{5});
  CHECK_FALSE(house.writer->serve_hotplug({5}));
  set_online(house.hardware, CpuId{5}, facts, before);
  CHECK(house.writer->serve_hotplug({5}));
  CHECK(house.hardware.tree.pstate.cpus.at(CpuId{5}).max == KHz{3'000'000});
}
