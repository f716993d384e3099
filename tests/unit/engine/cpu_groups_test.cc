// Units and cgroups as what a workload is for.
#include <doctest/doctest.h>

#include <chrono>

#include "engine/model/cpu_noise.h"
#include "engine/model/cpu_sets.h"
#include "engine/plan/put.h"
#include "engine/transaction/ended.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_groups_test {

using namespace nrd::testing;

namespace {

// With feed.service, which runs process 10.
struct UnitFixture : CpuPoolFixture {
  UnitFixture() { add_group(kUnit, {a_process(10)}); }
};

}  // namespace

TEST_CASE("a unit runs on the granted CPUs, and its processes are in the class, whenever they start") {
  UnitFixture fixture;
  const Observed before = fixture.hardware.tree;
  Spec spec = for_unit();
  spec.cache = CacheRequest{.max = 2, .min = 2};
  const auto workload = fixture.create(spec);
  REQUIRE(workload);
  CHECK(fixture.hardware.tree.cpuset.targets.at(kUnit).cpus.to_string() == "2,4");
  CHECK(fixture.runs_on(10) == "0-15");  // the affinity is its own affair
  CHECK(fixture.hardware.tasks.at(a_process(10)) == "COS2");
  CHECK(is_applied(fixture.state(), *workload));
  // Restarted: another process, for which the next check finds the class.
  fixture.hardware.tree.cpuset.groups[kUnit].processes = {a_process(20)};
  fixture.hardware.tasks.erase(a_process(10));
  fixture.transaction->reap_tasks();
  CHECK(fixture.hardware.tasks.at(a_process(20)) == "COS2");
  // It stops: the workload stays.
  fixture.hardware.tree.cpuset.groups[kUnit].processes = {};
  fixture.hardware.tasks.erase(a_process(20));
  fixture.transaction->reap_tasks();
  CHECK(fixture.state().workloads.size() == 1);
  REQUIRE(fixture.remove(workload->id));
  CHECK(fixture.hardware.tree.cpuset.targets == before.cpuset.targets);
  CHECK(fixture.store.baselines().cpu_sets.empty());
  CHECK(fixture.store.baselines().tasks.empty());
}

TEST_CASE("a task in the unit of a workload belongs to that, in whatever order they are requested") {
  UnitFixture fixture;
  const CacheRequest ways{.max = 2, .min = 2};
  Spec unit;
  unit.unit = kUnit.name;
  unit.cache = ways;
  Spec task;
  task.tasks = {a_process(10)};
  task.cache = ways;
  const auto first = value_of(fixture.create(unit));
  const Error taken = error_of(fixture.create(task));
  CHECK(taken.code == ErrorCode::Conflict);
  CHECK(taken.field == "/task_ids");
  CHECK(taken.message == "task 10 belongs to workload 1");
  REQUIRE(fixture.remove(first.id));
  REQUIRE(fixture.create(task));
  CHECK(error_of(fixture.create(unit)).message == "task 10 of it belongs to workload 2");
}

TEST_CASE("a workload ends with its unit on request, also if no process starts in time") {
  UnitFixture fixture;
  const Observed before = fixture.hardware.tree;
  Spec spec = for_unit();
  spec.cgroup_owner = CgroupOwner{.within_seconds = 60};
  auto& processes = fixture.hardware.tree.cpuset.groups[kUnit].processes;
  processes = {};
  const auto workload = value_of(fixture.create(spec));
  const auto ends_at = [&](std::chrono::seconds after) {
    const auto late = ArrivalDeadlines().passed(fixture.state().workloads, workload.created + after, {});
    return without_ended_groups(fixture.state(), late).ended.contains(workload.id);
  };
  fixture.transaction->reap_tasks();
  CHECK_FALSE(ends_at(std::chrono::seconds(60)));
  CHECK(ends_at(std::chrono::seconds(61)));
  processes = {a_process(10)};
  fixture.transaction->reap_tasks();
  CHECK(fixture.state().workloads.at(workload.id).spec.cgroup_owner->has_come);
  CHECK_FALSE(ends_at(std::chrono::hours(1)));
  // While nrd is down.
  processes = {};
  fixture.start();
  CHECK(fixture.state().workloads.size() == 0);
  CHECK(fixture.hardware.tree.cpuset.targets == before.cpuset.targets);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("the deadline of a unit that PUT names does not depend on the age of the workload") {
  UnitFixture fixture;
  const cpuset::Target other{.kind = cpuset::Target::Kind::Unit, .name = "other.service", .task = {}};
  fixture.add_group(other);
  PutWorkload put;
  put.spec = for_unit();
  put.spec.given_id = "feed";
  const auto workload = value_of(fixture.transaction->apply(std::vector<Command>{put}).front()).workload;
  put.spec.unit = other.name;
  put.spec.cgroup_owner = CgroupOwner{.within_seconds = 60};
  const NodeState& state = fixture.state();
  const Time later = workload.created + std::chrono::hours(1);
  const Workloads planned = value_of(plan::put(state, workload.id, put, later));
  const auto ends_at = [&](std::chrono::seconds after) {
    const auto late = ArrivalDeadlines().passed(planned, later + after, {});
    return without_ended_groups(with_workloads(state, planned), late).ended.contains(workload.id);
  };
  fixture.transaction->apply(std::vector<Command>{put});  // so that the unit is observed
  CHECK_FALSE(ends_at(std::chrono::seconds(60)));
  CHECK(ends_at(std::chrono::seconds(61)));
}

TEST_CASE("a step of the wall clock ends no workload, and keeps none") {
  UnitFixture fixture;
  Spec spec = for_unit();
  spec.cgroup_owner = CgroupOwner{.within_seconds = 60};
  fixture.hardware.tree.cpuset.groups[kUnit].processes = {};
  const auto workload = value_of(fixture.create(spec));
  const ArrivalDeadlines::Steady begun{std::chrono::hours(1)};
  ArrivalDeadlines deadlines;
  const auto is_late = [&](std::chrono::seconds wall, std::chrono::seconds passed) {
    return deadlines.passed(fixture.state().workloads, workload.created + wall, begun + passed).contains(workload.id);
  };
  CHECK_FALSE(is_late(std::chrono::seconds(10), std::chrono::seconds(0)));
  CHECK_FALSE(is_late(std::chrono::hours(24), std::chrono::seconds(50)));
  CHECK_FALSE(is_late(-std::chrono::hours(24), std::chrono::seconds(50)));
  CHECK(is_late(-std::chrono::hours(24), std::chrono::seconds(51)));
  // Created by a clock that was ahead, and found by the next start.
  deadlines = {};
  CHECK_FALSE(is_late(-std::chrono::hours(24), std::chrono::seconds(100)));
  CHECK(is_late(-std::chrono::hours(24), std::chrono::seconds(161)));
}

TEST_CASE("a changed deadline counts from the creation") {
  UnitFixture fixture;
  Spec spec = for_unit();
  spec.cgroup_owner = CgroupOwner{};
  auto workload = value_of(fixture.create(spec));
  ArrivalDeadlines deadlines;
  const std::chrono::seconds passed(11);
  for (const uint32_t within : {300U, 10U}) {
    workload.spec.cgroup_owner->within_seconds = within;
    Workloads one;
    one.put(workload);
    CHECK(deadlines.passed(one, workload.created + passed, ArrivalDeadlines::Steady(passed)).empty() == (within > 11));
  }
}

TEST_CASE("a workload ends with a job that came and went between two observations") {
  UnitFixture fixture;
  auto& group = fixture.hardware.tree.cpuset.groups[kUnit];
  group.processes = {};
  group.usage_us = 5000;  // of earlier processes
  Spec spec = for_unit();
  spec.cgroup_owner = CgroupOwner{.within_seconds = 600};
  REQUIRE(fixture.create(spec));
  fixture.transaction->reap_tasks();
  fixture.transaction->repair();
  REQUIRE(fixture.state().workloads.size() == 1);
  group.usage_us = 6000;
  SUBCASE("seen by the scan of tasks") { fixture.transaction->reap_tasks(); }
  SUBCASE("seen by the drift check") { fixture.transaction->repair(); }
  SUBCASE("while nrd is down") { fixture.start(); }
  CHECK(fixture.state().workloads.size() == 0);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("tasks and units that end together: nothing more is stored while the first outcome is unknown") {
  UnitFixture fixture;
  Spec spec = for_unit();
  spec.cgroup_owner = CgroupOwner{};
  REQUIRE(fixture.create(spec));
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(20)})));
  fixture.transaction->reap_tasks();
  fixture.hardware.tree.cpuset.groups[kUnit].processes = {};
  fixture.hardware.tasks.erase(a_process(20));
  const cpuset::Target ended{.kind = cpuset::Target::Kind::Task, .name = {}, .task = a_process(20)};
  fixture.hardware.tree.cpuset.targets.erase(ended);
  const uint64_t commits = fixture.store.commits;
  fixture.store.next_outcomes = {store::Committed::Unknown};
  fixture.store.reopens = false;
  fixture.transaction->reap_tasks();
  CHECK(fixture.store.commits == commits + 1);
  CHECK(fixture.state().health.writes_frozen);
  CHECK(fixture.state().workloads.size() == 2);
  fixture.store.reopens = true;
  fixture.transaction->reap_tasks();
  CHECK_FALSE(fixture.state().health.writes_frozen);
  CHECK(fixture.state().workloads.size() == 1);  // the other one has CPUs of its own
}

TEST_CASE("a workload ends with a limited cgroup that is removed before it has had a process") {
  UnitFixture fixture;
  const cpuset::Target cgroup{.kind = cpuset::Target::Kind::Cgroup, .name = "/jobs", .task = {}};
  Spec spec = for_cpus({.pool = "fast", .count = 2});
  spec.cgroup = "/jobs";
  spec.cgroup_owner = CgroupOwner{.within_seconds = 600};
  REQUIRE(fixture.create(spec));
  fixture.transaction->repair();
  REQUIRE(fixture.state().workloads.size() == 1);  // it may come
  fixture.add_group(cgroup);
  fixture.transaction->repair();
  REQUIRE(fixture.hardware.tree.cpuset.targets.at(cgroup).cpus.to_string() == "2,4");
  fixture.hardware.tree.cpuset.targets.erase(cgroup);
  fixture.hardware.tree.cpuset.groups.erase(cgroup);
  fixture.transaction->repair();
  CHECK(fixture.state().workloads.size() == 0);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("a request writes to no target whose CPUs it does not change") {
  UnitFixture fixture;
  REQUIRE(fixture.create(for_unit()));
  REQUIRE(fixture.create(for_cpus({.pool = "common"}, {a_process(20)})));
  auto& targets = fixture.hardware.tree.cpuset.targets;
  const cpuset::Target task{.kind = cpuset::Target::Kind::Task, .name = {}, .task = a_process(20)};
  targets[kUnit] = {.cpus = CpuSet{5}};  // other software, which a write would undo
  targets[task] = {.cpus = CpuSet{5}};
  const auto other = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1}, {a_process(30)})));
  CHECK(fixture.runs_on(30) == other.grant.cpu->exclusive.to_string());
  REQUIRE(fixture.patch(other.id, {.cpu = members<CpuRequest>(R"({"count": 2})")}));
  REQUIRE(fixture.remove(other.id));
  CHECK(targets.at(kUnit).cpus == CpuSet{5});
  CHECK(targets.at(task).cpus == CpuSet{5});
  fixture.transaction->repair();  // the drift check does it
  CHECK(targets.at(kUnit).cpus.to_string() == "2,4");
  CHECK(targets.at(task).cpus.to_string() == "8-9");
}

TEST_CASE("a workload without a unit and without a cgroup cannot end with it") {
  UnitFixture fixture;
  Spec spec = for_cpus({.pool = "fast", .count = 1}, {a_process(10)});
  spec.cgroup_owner = CgroupOwner{};
  CHECK(error_of(fixture.create(spec)).field == "/owner/cgroup");
}

TEST_CASE("a unit gets ways alone, on all caches, since it may run anywhere") {
  UnitFixture fixture;
  Spec spec;
  spec.unit = "feed.service";
  spec.cache = CacheRequest{.max = 2, .min = 2};
  const auto workload = value_of(fixture.create(spec));
  CHECK(workload.grant.ways.size() == 2);
  CHECK(fixture.hardware.tasks.at(a_process(10)) == "COS2");
  CHECK(fixture.hardware.tree.cpuset.targets.at(kUnit).cpus == fixture.everywhere);
}

TEST_CASE("a unit that cannot have its CPUs is refused, and nothing has changed") {
  UnitFixture fixture;
  cpuset::Group& group = fixture.hardware.tree.cpuset.groups[kUnit];
  const Observed before = fixture.hardware.tree;
  const auto code_of = [&fixture](const Spec& spec) {
    const Error refused = error_of(fixture.create(spec));
    CHECK((refused.field == "/unit" || refused.field == "/cgroup"));
    return refused.code;
  };
  CHECK(code_of(for_unit("fed.service")) == ErrorCode::BadRequest);
  Spec with_tasks = for_unit();
  with_tasks.tasks = {a_process(20)};
  CHECK(code_of(with_tasks) == ErrorCode::BadRequest);
  Spec both = for_unit();
  both.cgroup = "/x";
  CHECK(code_of(both) == ErrorCode::BadRequest);
  group.available = CpuSet{0, 1, 2};
  CHECK(code_of(for_unit()) == ErrorCode::Conflict);
  group.available = fixture.everywhere;
  CHECK(fixture.hardware.tree == before);

  Spec cgroup = for_cpus({.pool = "fast", .count = 1});
  cgroup.cgroup = "/system.slice/feed.service";
  const cpuset::Target target{.kind = cpuset::Target::Kind::Cgroup, .name = cgroup.cgroup, .task = {}};
  fixture.hardware.tree.cpuset.targets[target] = {.cpus = fixture.everywhere};
  fixture.hardware.tree.cpuset.groups[target] = {.available = fixture.everywhere, .managed_by = "feed.service"};
  CHECK(code_of(cgroup) == ErrorCode::Conflict);
  fixture.hardware.tree.cpuset.groups[target] = {.available = fixture.everywhere, .has_controller = false};
  CHECK(code_of(cgroup) == ErrorCode::Conflict);

  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 1}, {a_process(10)})));
  CHECK(code_of(for_unit()) == ErrorCode::Conflict);  // its process is another workload's
  group.processes = {};
  REQUIRE(fixture.create(for_unit()));
  CHECK(code_of(for_unit()) == ErrorCode::Conflict);
  fixture.hardware.facts.cpuset.no_scopes = "systemd is not the init of this host";
  fixture.transaction->repair();
  CHECK(code_of(for_unit("other.service")) == ErrorCode::Unsupported);
}

TEST_CASE("without the cpuset controller a cgroup is refused with the reason, and a task is limited by affinity") {
  UnitFixture fixture;
  fixture.hardware.facts.cpuset.no_cgroups = "the cpuset controller is not in cgroup version 2";
  fixture.transaction->repair();
  Spec cgroup = for_cpus({.pool = "fast", .count = 1});
  cgroup.cgroup = "/jobs";
  const Error refused = error_of(fixture.create(cgroup));
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(refused.field == "/cgroup");
  CHECK(refused.message == "the cpuset controller is not in cgroup version 2");
  CHECK(refused.allowed == "task_ids, or cpu with \"enforce\": \"runtime\"");
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 1}, {a_process(10)})));
  CHECK(fixture.runs_on(10) == "2");
}

TEST_CASE("a failed write leaves a unit where it was") {
  Spec spec = for_unit();
  spec.cache = CacheRequest{.max = 2, .min = 2};
  check_failed_writes<UnitFixture>(spec, 3);
}

TEST_CASE("a unit whose CPUs are all offline stays as it is, and gets what it had when the workload ends") {
  UnitFixture fixture;
  const Observed before = fixture.hardware.tree;
  const auto workload = value_of(fixture.create(for_unit()));
  fixture.hardware.facts.rdt.online -= CpuSet{2, 4};
  const uint64_t writes = fixture.hardware.writes;
  fixture.transaction->repair();
  CHECK(fixture.hardware.writes == writes);
  CHECK(fixture.store.baselines().cpu_sets.contains(kUnit));
  CHECK(fixture.hardware.tree.cpuset.targets.at(kUnit).cpus.to_string() == "2,4");
  SUBCASE("while they are offline") {}
  SUBCASE("when they are back") {
    fixture.hardware.facts.rdt.online = fixture.everywhere;
    fixture.transaction->repair();
    CHECK(is_applied(fixture.state(), workload));
  }
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree.cpuset.targets == before.cpuset.targets);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("a container whose own list overlaps the CPUs in part is refused, and reported if it comes later") {
  UnitFixture fixture;
  auto& inner = fixture.hardware.tree.cpuset.targets[kUnit].inner;
  inner["/system.slice/feed.service/box"] = CpuSet{4, 5};
  const uint64_t writes = fixture.hardware.writes;
  const Error refused = error_of(fixture.create(for_unit()));
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.message ==
        "/system.slice/feed.service/box below it has cpuset.cpus 4-5, so that it would run on CPU 4, not on 2,4");
  CHECK(fixture.hardware.writes == writes);
  // A choice of some, of all, or of others, which the kernel ignores.
  for (const CpuSet& chosen : {CpuSet{4}, CpuSet::first(16), CpuSet{6, 7}}) {
    inner["/system.slice/feed.service/box"] = chosen;
    const auto workload = value_of(fixture.create(for_unit()));
    CHECK(is_applied(fixture.state(), workload));
    REQUIRE(fixture.remove(workload.id));
  }
  const auto workload = value_of(fixture.create(for_unit()));
  fixture.hardware.tree.cpuset.targets[kUnit].inner["/system.slice/feed.service/box"] = CpuSet{4, 5};
  fixture.transaction->repair();
  CHECK_FALSE(is_applied(fixture.state(), workload));
  CHECK(fixture.state().health.hardware_problem.empty());
}

TEST_CASE("a kernel that would give up isolcpus= is reported with a remedy") {
  UnitFixture fixture;
  CHECK(cpu_warnings(fixture.state()).empty());
  fixture.hardware.facts.cpuset.no_scopes = "this kernel, before 6.2, would give up isolcpus=";
  fixture.transaction->repair();
  REQUIRE(cpu_warnings(fixture.state()).size() == 1);
  CHECK(cpu_warnings(fixture.state())[0].find("confine = \"slices\"") != std::string::npos);
  fixture.hardware.facts.cpuset.no_slices = "systemd is not the init of this host";
  fixture.transaction->repair();
  CHECK(cpu_warnings(fixture.state()).empty());
}

TEST_CASE("masks that the kernel overwrites are stored before, and given back by the next start after a death") {
  UnitFixture fixture;
  fixture.hardware.facts.cpuset.overwrites_affinity = true;
  fixture.start();
  const Task pinned{.id = 40, .process = 40, .start = 7, .boot_id = {}};
  fixture.hardware.overwritten = {{pinned, CpuSet{3}}};
  SUBCASE("a change that succeeds keeps no record") {
    REQUIRE(fixture.create(for_unit()));
    CHECK(fixture.store.baselines().pinned.empty());
  }
  SUBCASE("a death between the write and the return") {
    fixture.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
    fixture.store.reopens = false;
    REQUIRE_FALSE(fixture.create(for_unit()));
    CHECK(fixture.store.baselines().pinned == std::map<Task, CpuSet>{{pinned, CpuSet{3}}});
    fixture.store.reopens = true;
    fixture.hardware.returned.clear();
    fixture.start();
    CHECK(fixture.hardware.returned == std::map<Task, CpuSet>{{pinned, CpuSet{3}}});
    fixture.transaction->repair();
    CHECK(fixture.store.baselines().pinned.empty());
    fixture.hardware.returned.clear();
    fixture.start();
    CHECK(fixture.hardware.returned.empty());
  }
}

}  // namespace nrd::cpu_groups_test
