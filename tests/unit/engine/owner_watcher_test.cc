#include "engine/owner_watcher.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "engine/owner_cleanup.h"
#include "engine/transaction/engine_config.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::owner_watcher_test {

using namespace nrd::testing;

namespace {

constexpr std::chrono::seconds kDeadline{30};

// A process that runs until it is ended.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

bool wait_until(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

Spec owned_by(const Owner& owner, const char* cpus) {
  Spec spec = a_spec(cpus).ways(1, 1);
  spec.owner = owner;
  return spec;
}

// A child process and a workload that it owns.
struct Fixture {
  FakeHardware hardware{{}};
  FakeStore store;
  const SystemClock clock;
  const std::unique_ptr<Engine> engine = *Engine::start(hardware, store, clock, {});
  const std::unique_ptr<OwnerWatcher> owners = *OwnerWatcher::start();
  Child child;
  const Result<Done> created = submit(*engine, CreateWorkload{owned_by(*owners->identify(child.pid()), "3")});
};

}  // namespace

TEST_CASE("allocations of a process are released when it is killed") {
  const auto owners = *OwnerWatcher::start();
  Child child;
  const auto owner = value_of(owners->identify(child.pid()));
  std::promise<void> ended;
  std::atomic<int> calls{0};
  owners->watch(owner, &owners, [&] {
    if (++calls == 1) ended.set_value();
    return true;
  });
  auto future = ended.get_future();
  CHECK(calls == 0);
  child.end();
  CHECK(future.wait_for(kDeadline) == std::future_status::ready);
  owners->stop();
  CHECK(calls == 1);
}

TEST_CASE("a process with a reused number is not taken for the owner") {
  const auto owners = *OwnerWatcher::start();
  const auto living = value_of(owners->identify(::getpid()));
  Owner older = living;
  --older.start;
  Owner other_boot = living;
  other_boot.boot_id = "another";
  for (const Owner& owner : {older, other_boot}) {
    std::promise<void> ended;
    owners->watch(owner, &owners, [&] {
      ended.set_value();
      return true;
    });
    CHECK(ended.get_future().wait_for(kDeadline) == std::future_status::ready);
  }
}

TEST_CASE("a failed release is retried") {
  const auto owners = *OwnerWatcher::start();
  std::atomic<int> calls{0};
  std::promise<void> done;
  owners->watch({.pid = ::getpid(), .start = 0, .boot_id = "another"}, &owners, [&] {
    if (++calls < 2) return false;
    done.set_value();
    return true;
  });
  CHECK(done.get_future().wait_for(kDeadline) == std::future_status::ready);
}

TEST_CASE("a process with many allocations costs one descriptor") {
  const auto owners = *OwnerWatcher::start();
  Child child;
  const auto owner = value_of(owners->identify(child.pid()));
  std::atomic<int> calls{0};
  std::promise<void> ended;
  for (int time = 0; time < 100; ++time) {
    owners->watch(owner, &owners, [&] {
      ++calls;
      return true;
    });
  }
  owners->watch(owner, &calls, [&] {
    ended.set_value();
    return true;
  });
  child.end();
  CHECK(ended.get_future().wait_for(kDeadline) == std::future_status::ready);
  owners->stop();
  CHECK(calls == 1);
}

TEST_CASE("a missing process cannot be an owner") {
  const auto owners = *OwnerWatcher::start();
  pid_t gone = 0;
  {
    const Child child;
    gone = child.pid();
  }
  for (const pid_t pid : {gone, 0, -1}) {
    const Error refused = error_of(owners->identify(pid));
    CHECK(refused.code == ErrorCode::BadRequest);
    CHECK(refused.field == "/owner/pid");
  }
}

TEST_CASE("a workload is deleted when its owner exits, and other workloads stay") {
  Fixture fixture;
  REQUIRE(fixture.created);
  const auto neighbour = value_of(submit(*fixture.engine, CreateWorkload{a_spec("4").ways(1, 1)}));
  end_with_owner(*fixture.engine, *fixture.owners, *fixture.created->workload.spec.owner);
  fixture.child.end();
  CHECK(wait_until([&] { return !fixture.engine->state()->workloads.contains(fixture.created->workload.id); }));
  CHECK(fixture.engine->state()->workloads.contains(neighbour.workload.id));
  fixture.owners->stop();
}

TEST_CASE("a workload that gets another owner while the deletion for the old one waits stays") {
  Fixture fixture;
  Spec spec = owned_by(*fixture.owners->identify(fixture.child.pid()), "5");
  spec.given_id = "feed";
  PutWorkload put;
  put.spec = spec;
  REQUIRE(submit(*fixture.engine, put));
  end_with_owner(*fixture.engine, *fixture.owners, *spec.owner);
  std::promise<void> deletion_waits;
  fixture.owners->watch(*spec.owner, &fixture, [&deletion_waits] {  // called after that of the engine
    deletion_waits.set_value();
    return true;
  });
  std::promise<void> is_busy;
  std::promise<void> may_go_on;
  fixture.engine->record({}, [&is_busy, &may_go_on](const Result<void>&) {
    is_busy.set_value();
    may_go_on.get_future().wait();
  });
  is_busy.get_future().wait();
  put.spec.owner = *fixture.owners->identify(::getpid());
  std::promise<Result<Done>> replaced;
  fixture.engine->submit(put, [&replaced](Result<Done> outcome) { replaced.set_value(std::move(outcome)); });
  fixture.child.end();
  deletion_waits.get_future().wait();
  may_go_on.set_value();
  REQUIRE(replaced.get_future().get());
  REQUIRE(submit(*fixture.engine, CreateWorkload{a_spec("6").ways(1, 1)}));  // behind the deletion
  const Workload* found = workload_with_id(*fixture.engine->state(), "feed");
  REQUIRE(found);
  CHECK(found->spec.owner == put.spec.owner);
  fixture.owners->stop();
}

TEST_CASE("a workload whose owner exited while nrd was down is deleted at start") {
  FakeHardware hardware({});
  FakeStore store;
  const SystemClock clock;
  const auto owners = *OwnerWatcher::start();
  Child child;
  {
    const auto engine = *Engine::start(hardware, store, clock, {});
    REQUIRE(submit(*engine, CreateWorkload{owned_by(*owners->identify(child.pid()), "3")}));
    REQUIRE(submit(*engine, CreateWorkload{owned_by(*owners->identify(::getpid()), "4")}));
  }
  child.end();
  const auto engine = *Engine::start(hardware, store, clock, {});
  REQUIRE(engine->state()->workloads.size() == 2);
  end_with_owners(*engine, *owners);
  CHECK(wait_until([&] { return engine->state()->workloads.size() == 1; }));
  CHECK(engine->state()->workloads.begin()->second.spec.owner->pid == ::getpid());
  owners->stop();
}

TEST_CASE("deletion is retried until the store accepts it") {
  Fixture fixture;
  REQUIRE(fixture.created);
  fixture.store.next_outcomes = {store::Committed::NotDone};
  end_with_owner(*fixture.engine, *fixture.owners, *fixture.created->workload.spec.owner);
  fixture.child.end();
  CHECK(wait_until([&] { return fixture.engine->state()->workloads.empty(); }));
  fixture.owners->stop();
}

}  // namespace nrd::owner_watcher_test
