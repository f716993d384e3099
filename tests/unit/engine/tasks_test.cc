#include <doctest/doctest.h>

#include <ostream>

#include "engine/model/setting.h"
#include "engine/transaction/ended.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::tasks_test {

using namespace nrd::testing;

namespace {

Task a_thread(pid_t id, pid_t process) { return {.id = id, .process = process, .start = 7, .boot_id = "boot-1"}; }

Spec for_tasks(std::vector<Task> tasks) {
  Spec spec;
  spec.tasks = std::move(tasks);
  spec.cache = CacheRequest{.max = 2, .min = 2};
  return spec;
}

struct Fixture : TransactionFixture {
  Fixture() {
    for (pid_t id : {10, 20, 30}) hardware.tasks[a_process(id)] = "";
    start();
  }
  std::string place(pid_t id) { return hardware.tasks.at(a_process(id)); }
};

}  // namespace

TEST_CASE("tasks with unknown CPUs get ways on every cache") {
  Fixture fixture;
  CHECK(fixture.create(for_tasks({a_process(10)}))->grant.ways.size() == 2);
  Spec bound = for_tasks({a_process(20)});
  bound.task_cpus = CpuSet{9};
  const auto workload = value_of(fixture.create(bound));
  CHECK(workload.grant.ways.size() == 1);
  CHECK(workload.grant.ways.contains(CacheId{3, 1}));
}

TEST_CASE("children of tasks leave the class with its last workload") {
  Fixture fixture;
  const auto workload = fixture.create(for_tasks({a_process(10)}));
  fixture.hardware.tasks[a_process(40)] = "COS2";  // the kernel gave it the class of its parent
  REQUIRE(fixture.apply(DeleteWorkload{workload->id}));
  CHECK(fixture.place(40).empty());
  const auto next = value_of(fixture.create(for_tasks({a_process(20)})));
  CHECK(next.grant.clos == ClosId{2});
}

TEST_CASE("a missing, taken or foreign task is refused") {
  Fixture fixture;
  REQUIRE(fixture.create(for_tasks({a_process(10)})));
  const Observed before = fixture.hardware.tree;
  const Error gone = error_of(fixture.create(for_tasks({a_process(99)})));
  CHECK(gone.code == ErrorCode::BadRequest);
  CHECK(gone.field == "/task_ids");
  CHECK(gone.subject == "99");
  for (const Task& task : {a_process(10), a_thread(11, 10)}) {
    fixture.hardware.tasks[task] = "COS2";
    const Error taken = error_of(fixture.create(for_tasks({task})));
    CHECK(taken.code == ErrorCode::Conflict);
    CHECK(taken.subject == std::to_string(task.id) + " 1");
  }
  fixture.hardware.tasks[a_process(30)] = "theirs";
  CHECK(error_of(fixture.create(for_tasks({a_process(30)}))).code == ErrorCode::Conflict);
  CHECK(fixture.place(30) == "theirs");
  CHECK(fixture.hardware.tree == before);
}

TEST_CASE("tasks need ways, and a frequency needs CPUs") {
  Fixture fixture;
  Spec nothing = for_tasks({a_process(10)});
  nothing.cache.reset();
  nothing.frequency = FrequencyRequest{};
  const Error refused = error_of(fixture.create(nothing));
  CHECK(refused.field == "/task_ids");
  CHECK(refused.allowed == "cache, l2 or cpu together with task_ids");
  Spec fast = for_tasks({a_process(10)});
  fast.frequency = FrequencyRequest{};
  fast.frequency->max = 20;
  const Error without_cpus = error_of(fixture.create(fast));
  CHECK(without_cpus.field == "/pstate");
  CHECK(without_cpus.allowed == "core_ids or cpu");
}

TEST_CASE("a process with a reused number is a different task") {
  Fixture fixture;
  const auto workload = fixture.create(for_tasks({a_process(10)}));
  fixture.hardware.tasks.erase(a_process(10));
  Task reborn = a_process(10);
  reborn.start = 8;
  fixture.hardware.tasks[reborn] = "";
  fixture.transaction->repair();
  CHECK(fixture.hardware.tasks.at(reborn).empty());
  fixture.transaction->reap_tasks();
  CHECK_FALSE(fixture.state().workloads.contains(workload->id));
  CHECK(fixture.create(for_tasks({reborn})));
}

TEST_CASE("exited tasks are found at start, and after a reboot all have exited") {
  Fixture fixture;
  const auto first = fixture.create(for_tasks({a_process(10)}));
  const auto second = fixture.create(for_tasks({a_process(20)}));
  fixture.hardware.tasks.erase(a_process(10));
  fixture.start();
  CHECK_FALSE(fixture.state().workloads.contains(first->id));
  CHECK(fixture.state().workloads.contains(second->id));
  fixture.hardware.reboot("boot-2");
  fixture.hardware.tasks[a_process(20)] = "";  // its number and start again, by chance
  fixture.start();
  CHECK(fixture.state().workloads.empty());
  CHECK(fixture.place(20).empty());
}

TEST_CASE("a failed commit of exited tasks is retried") {
  Fixture fixture;
  const auto workload = fixture.create(for_tasks({a_process(10)}));
  fixture.hardware.tasks.erase(a_process(10));
  fixture.store.next_outcomes = {store::Committed::NotDone};
  fixture.transaction->reap_tasks();
  CHECK(fixture.state().workloads.contains(workload->id));
  fixture.transaction->reap_tasks();
  CHECK(fixture.state().workloads.empty());
  CHECK(fixture.store.records.workloads.empty());
}

TEST_CASE("a unit beside CPUs of one cache never uses the ways granted on another") {
  TransactionFixture fixture(with_threads());
  fixture.hardware.add_task(a_process(10), CpuSet::first(16));
  fixture.hardware.tree.cpuset.targets[kUnit] = {.cpus = CpuSet::first(16)};
  fixture.hardware.tree.cpuset.groups[kUnit] = {.available = CpuSet::first(16), .processes = {a_process(10)}};
  fixture.start();
  Spec unit = a_spec("2").ways(2, 2);
  unit.unit = kUnit.name;
  const auto first = value_of(fixture.create(unit));
  const auto second = value_of(fixture.create(a_spec("12").ways(2, 2)));
  const auto& [cache, ways] = *second.grant.ways.begin();
  REQUIRE(fixture.hardware.tasks.at(a_process(10)) == text_of(first.grant.clos));
  CHECK(!fixture.hardware.tree.rdt.ways_of(first.grant.clos, cache)->intersects(ways));
}

}  // namespace nrd::tasks_test
