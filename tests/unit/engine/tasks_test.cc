#include <doctest/doctest.h>

#include <ostream>

#include "engine/model/setting.h"
#include "engine/transaction/exited_tasks.h"
#include "tests/unit/engine/fixtures.h"

using namespace nrd;

namespace {

Task a_process(pid_t id) { return {.id = id, .process = id, .start = 7, .boot_id = "boot-1"}; }
Task a_thread(pid_t id, pid_t process) { return {.id = id, .process = process, .start = 7, .boot_id = "boot-1"}; }

Spec for_tasks(std::vector<Task> tasks, uint32_t max = 2, uint32_t min = 2) {
  Spec spec;
  spec.tasks = std::move(tasks);
  spec.cache = CacheRequest{.max = max, .min = min};
  return spec;
}

struct House : nrd::testing::WriterHouse {
  House() {
    for (pid_t id : {10, 20, 30}) hardware.tasks[a_process(id)] = "";
    start();
  }
  Result<Workload> patch(WorkloadId id, std::vector<Task> tasks) {
    SpecPatch patch;
    patch.tasks = std::move(tasks);
    return WriterHouse::patch(id, patch);
  }
  std::string place(pid_t id) { return hardware.tasks.at(a_process(id)); }
};

}  // namespace

TEST_CASE("tasks are moved into the class of their workload, and back when it goes") {
  House house;
  const Observed before = house.hardware.tree;
  const auto workload = house.create(for_tasks({a_process(10), a_process(20)}));
  REQUIRE(workload);
  CHECK(house.place(10) == "COS2");
  CHECK(house.place(20) == "COS2");
  CHECK(house.place(30).empty());
  CHECK(is_applied(house.state(), *workload));
  CHECK(house.store.records.baselines.tasks.size() == 2);
  REQUIRE(house.apply(DeleteWorkload{workload->id}));
  CHECK(house.place(10).empty());
  CHECK(house.hardware.tree == before);
  CHECK(house.store.records.baselines.tasks.empty());
}

TEST_CASE("where nothing is known of their CPUs tasks get ways of every cache") {
  House house;
  CHECK(house.create(for_tasks({a_process(10)}))->grant.ways.size() == 2);
  Spec bound = for_tasks({a_process(20)});
  bound.task_cpus = CpuSet{9};
  const auto workload = house.create(bound);
  REQUIRE(workload);
  CHECK(workload->grant.ways.size() == 1);
  CHECK(workload->grant.ways.contains(CacheId{1}));
}

TEST_CASE("children of tasks leave the class with its last workload") {
  House house;
  const auto workload = house.create(for_tasks({a_process(10)}));
  house.hardware.tasks[a_process(40)] = "COS2";  // the kernel gave it the class of its parent
  REQUIRE(house.apply(DeleteWorkload{workload->id}));
  CHECK(house.place(40).empty());
  const auto next = house.create(for_tasks({a_process(20)}));
  REQUIRE(next);
  CHECK(next->grant.clos == ClosId{2});
}

TEST_CASE("a task that is not there, another's, or in a group of others is refused") {
  House house;
  REQUIRE(house.create(for_tasks({a_process(10)})));
  const Observed before = house.hardware.tree;
  const auto gone = house.create(for_tasks({a_process(99)}));
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == ErrorCode::BadRequest);
  CHECK(gone.error().field == "/task_ids");
  CHECK(gone.error().subject == "99");
  for (const Task& task : {a_process(10), a_thread(11, 10)}) {
    house.hardware.tasks[task] = "COS2";
    const auto taken = house.create(for_tasks({task}));
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::Conflict);
    CHECK(taken.error().subject == std::to_string(task.id) + " 1");
  }
  house.hardware.tasks[a_process(30)] = "theirs";
  const auto foreign = house.create(for_tasks({a_process(30)}));
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == ErrorCode::Conflict);
  CHECK(house.place(30) == "theirs");
  CHECK(house.hardware.tree == before);
}

TEST_CASE("tasks need ways, and a frequency needs CPUs") {
  House house;
  Spec nothing = for_tasks({a_process(10)});
  nothing.cache.reset();
  nothing.frequency = FrequencyRequest{};
  CHECK(house.create(nothing).error().field == "/task_ids");
  Spec fast = for_tasks({a_process(10)});
  fast.frequency = FrequencyRequest{};
  fast.frequency->max = 20;
  CHECK(house.create(fast).error().field == "/pstate");
}

TEST_CASE("a patch replaces tasks, and the same ones write nothing") {
  House house;
  const auto workload = house.create(for_tasks({a_process(10), a_process(20)}));
  const uint64_t commits = house.store.commits;
  REQUIRE(house.patch(workload->id, {a_process(10), a_process(20)}));
  CHECK(house.store.commits == commits);
  REQUIRE(house.patch(workload->id, {a_process(20), a_process(30)}));
  CHECK(house.place(10).empty());
  CHECK(house.place(20) == "COS2");
  CHECK(house.place(30) == "COS2");
  const auto nobody = house.patch(workload->id, {});
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().field == "/task_ids");
}

TEST_CASE("a workload goes with its last task, and others go on without theirs") {
  House house;
  const Observed before = house.hardware.tree;
  const auto alone = house.create(for_tasks({a_process(10), a_process(20)}));
  Spec both = nrd::testing::a_spec("9").ways(1, 1);
  both.tasks = {a_process(30)};
  const auto with_cpus = house.create(both);
  REQUIRE(with_cpus);
  house.hardware.tasks.erase(a_process(10));
  house.hardware.tasks.erase(a_process(30));
  house.writer->reap_tasks();
  CHECK(house.state().workloads.at(alone->id).spec.tasks == std::vector<Task>{a_process(20)});
  CHECK(house.state().workloads.at(with_cpus->id).spec.tasks.empty());
  CHECK(house.state().workloads.at(alone->id).revision == 2);
  house.hardware.tasks.erase(a_process(20));
  house.writer->reap_tasks();
  CHECK_FALSE(house.state().workloads.contains(alone->id));
  CHECK(house.store.records.workloads.size() == 1);
  REQUIRE(house.apply(DeleteWorkload{with_cpus->id}));
  CHECK(house.hardware.tree == before);
  CHECK(house.store.records.baselines.tasks.empty());
}

TEST_CASE("another process of the same number is another task") {
  House house;
  const auto workload = house.create(for_tasks({a_process(10)}));
  house.hardware.tasks.erase(a_process(10));
  Task reborn = a_process(10);
  reborn.start = 8;
  house.hardware.tasks[reborn] = "";
  house.writer->repair();
  CHECK(house.hardware.tasks.at(reborn).empty());
  house.writer->reap_tasks();
  CHECK_FALSE(house.state().workloads.contains(workload->id));
  CHECK(house.create(for_tasks({reborn})));
}

TEST_CASE("tasks that ended while nrd was down are found at its start, and after a reboot all have") {
  House house;
  const auto first = house.create(for_tasks({a_process(10)}));
  const auto second = house.create(for_tasks({a_process(20)}));
  house.hardware.tasks.erase(a_process(10));
  house.start();
  CHECK_FALSE(house.state().workloads.contains(first->id));
  CHECK(house.state().workloads.contains(second->id));
  house.hardware.reboot("boot-2");
  house.hardware.tasks[a_process(20)] = "";  // its number and start again, by chance
  house.start();
  CHECK(house.state().workloads.empty());
  CHECK(house.place(20).empty());
}

TEST_CASE("threads that ended up elsewhere are put into the class at the next look") {
  House house;
  const auto workload = house.create(for_tasks({a_process(10)}));
  house.hardware.tasks[a_process(10)] = "";
  house.writer->reap_tasks();
  CHECK(house.place(10) == "COS2");
  CHECK(house.state().health.drift_repairs == 0);
}

TEST_CASE("each write of tasks failing leaves nothing behind") {
  for (uint64_t nth = 1;; ++nth) {
    House house;
    const auto tree = house.hardware.tree;
    const auto tasks = house.hardware.tasks;
    house.hardware.fail_at_write = nth;
    const auto workload = house.create(for_tasks({a_process(10), a_process(20)}));
    if (workload) {
      CHECK(nth > 5);
      return;
    }
    CHECK(workload.error().code == ErrorCode::Hardware);
    CHECK(house.hardware.tree == tree);
    CHECK(house.hardware.tasks == tasks);
    CHECK(house.store.records.workloads.empty());
  }
}

TEST_CASE("an ending that the store does not take is tried again") {
  House house;
  const auto workload = house.create(for_tasks({a_process(10)}));
  house.hardware.tasks.erase(a_process(10));
  house.store.next_outcomes = {store::Committed::NotDone};
  house.writer->reap_tasks();
  CHECK(house.state().workloads.contains(workload->id));
  house.writer->reap_tasks();
  CHECK(house.state().workloads.empty());
  CHECK(house.store.records.workloads.empty());
}
