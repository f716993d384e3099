#include "engine/transaction/engine.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <thread>

#include "engine/transaction/engine_config.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::engine_test {

using namespace nrd::testing;

TEST_CASE("of two concurrent requests for the same CPU exactly one succeeds") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  const auto engine = *Engine::start(hardware, store, clock, {});
  for (int round = 0; round < 50; ++round) {
    std::vector<std::future<Result<Done>>> racers;
    for (int i = 0; i < 4; ++i) {
      racers.push_back(std::async(std::launch::async,
                                  [&engine] { return submit(*engine, CreateWorkload{a_spec("3").ways(1, 1)}); }));
    }
    std::optional<WorkloadId> winner;
    for (auto& racer : racers) {
      const Result<Done> outcome = racer.get();
      if (outcome) {
        CHECK_FALSE(winner);
        winner = outcome->workload.id;
      } else {
        CHECK(outcome.error().code == ErrorCode::CpuTaken);
      }
    }
    REQUIRE(winner);
    CHECK(engine->state()->workloads.size() == 1);
    CHECK(submit(*engine, DeleteWorkload{*winner}));
  }
}

TEST_CASE("readers see consistent states during transactions") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  const auto engine = *Engine::start(hardware, store, clock, {.drift_interval = std::chrono::milliseconds(1)});
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    uint64_t last = 0;
    while (!stop) {
      const auto state = engine->state();
      CHECK(state->revision >= last);
      last = state->revision;
      for (const auto& [id, workload] : state->workloads) CHECK(is_applied(*state, workload));
    }
  });
  for (int round = 0; round < 200; ++round) {
    const auto created = value_of(submit(*engine, CreateWorkload{a_spec("0-3").ways(2, 2)}));
    REQUIRE(submit(*engine, DeleteWorkload{created.workload.id}));
  }
  stop = true;
  reader.join();
}

TEST_CASE("stop answers accepted commands and refuses later ones") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  auto engine = *Engine::start(hardware, store, clock, {});
  std::atomic<int> answered{0};
  for (unsigned cpu = 0; cpu < 5; ++cpu) {
    engine->submit(CreateWorkload{a_spec(std::to_string(cpu)).ways(1, 1)}, [&](const Result<Done>& outcome) {
      if (outcome) ++answered;
    });
  }
  engine.reset();
  CHECK(answered == 5);
  CHECK(store.records.workloads.size() == 5);
}

TEST_CASE("stop answers commands that arrived while the engine was busy, and refuses later ones") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  auto engine = *Engine::start(hardware, store, clock, {});
  std::promise<void> busy, go_on;
  engine->record({}, [&](const Result<void>&) {
    busy.set_value();
    go_on.get_future().wait();
  });
  busy.get_future().wait();
  std::atomic<int> answered{0};
  std::string refusal;
  const auto ask = [&answered, &refusal, asked = engine.get()] {
    asked->submit(DeleteWorkload{WorkloadId{7}}, [&](const Result<Done>& outcome) {
      ++answered;
      if (error_of(outcome).code == ErrorCode::Busy) refusal = error_of(outcome).message;
    });
  };
  ask();
  std::thread stopping([&engine] { engine.reset(); });
  int asked = 1;
  for (; refusal.empty(); ++asked) {
    ask();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  go_on.set_value();
  stopping.join();
  CHECK(refusal == "nrd is stopping");
  CHECK(answered == asked);
}

TEST_CASE("a command is withdrawn after its deadline") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  const auto engine = *Engine::start(hardware, store, clock, {}, {.begin_deadline = std::chrono::milliseconds(-1)});
  CHECK(error_of(submit(*engine, CreateWorkload{a_spec("0").ways(1, 1)})).code == ErrorCode::Busy);
  CHECK(store.commits == 0);
}

TEST_CASE("slow changes of one client do not keep an administrator's waiting") {
  struct SlowHardware : FakeHardware {
    using FakeHardware::FakeHardware;
    void begin_request() override { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }
  };
  SlowHardware hardware(NodeShape{});
  FakeStore store;
  const SystemClock clock;
  const auto engine = *Engine::start(hardware, store, clock, {});
  constexpr int kMany = 60;  // three seconds
  std::atomic<int> answered = 0;
  const Client user{.client_key = "user"};
  for (int i = 0; i < kMany; ++i)
    engine->submit(DeleteWorkload{WorkloadId{77}}, {[&answered](const Result<Done>&) { ++answered; }, user});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the first are served
  std::promise<int> before;
  engine->submit(DeleteWorkload{WorkloadId{78}}, {[&](const Result<Done>&) { before.set_value(answered); },
                                                  Client{.client_key = "root", .is_privileged = true}});
  CHECK(before.get_future().get() < kMany);
  while (answered < kMany) std::this_thread::yield();
}

TEST_CASE("a drift check replaces the next check of tasks, unless it fails") {
  struct CountingHardware : FakeHardware {
    using FakeHardware::FakeHardware;
    Result<NodeFacts> discover() override {
      ++checks;
      return is_broken ? Result<NodeFacts>(fail(ErrorCode::Hardware, "broken")) : FakeHardware::discover();
    }
    Result<Observed> observe(const CpuSet& cpus, const std::set<Task>& of, const cpuset::Query& query) override {
      ++seen;
      return FakeHardware::observe(cpus, of, query);
    }
    std::atomic<unsigned> checks = 0;
    std::atomic<unsigned> seen = 0;
    std::atomic<bool> is_broken = false;
  };
  CountingHardware hardware(NodeShape{});
  hardware.tasks[a_process(10)] = "";
  FakeStore store;
  const SystemClock clock;
  constexpr std::chrono::milliseconds kInterval(2);
  auto engine = *Engine::start(hardware, store, clock, {.drift_interval = kInterval, .tasks_interval = kInterval});
  Spec spec;
  spec.tasks = {a_process(10)};
  spec.cache = CacheRequest{.max = 2, .min = 2};
  REQUIRE(submit(*engine, CreateWorkload{spec}));
  SUBCASE("it succeeds") {}
  SUBCASE("it fails") { hardware.is_broken = true; }
  hardware.checks = 0;
  hardware.seen = 0;
  while (hardware.checks < 20) std::this_thread::sleep_for(kInterval);
  engine.reset();
  if (hardware.is_broken) {
    CHECK(hardware.seen > 10);
  } else {
    CHECK(hardware.seen <= hardware.checks + 1);
  }
}

TEST_CASE("an engine does not start on pools that do not fit the node") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  CHECK(error_of(Engine::start(hardware, store, clock, {.node = {.pools = {.os = 12}}})).code == ErrorCode::BadRequest);
}

}  // namespace nrd::engine_test
