// CPUs of pools through the engine: what is granted, where tasks run, and what is left of it afterwards.
#include <doctest/doctest.h>

#include "engine/model/cpu_sets.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_pools_test {

using namespace nrd::testing;
using Fixture = CpuPoolFixture;

TEST_CASE("a task runs on the CPUs granted to its workload, and where it ran before after its deletion") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  const auto workload = fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)}));
  REQUIRE(workload);
  const CpuGrant& grant = *workload->grant.cpu;
  CHECK(grant.exclusive.to_string() == "2,4");
  CHECK(grant.idle_siblings.to_string() == "3,5");
  CHECK(fixture.runs_on(10) == "2,4");
  CHECK(fixture.runs_on(20) == "0-15");
  CHECK(is_applied(fixture.state(), *workload));
  CHECK(fixture.store.baselines().cpu_sets.size() == 1);
  REQUIRE(fixture.remove(workload->id));
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("exclusive CPUs and their idle siblings belong to one workload") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  const auto second = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1})));
  CHECK(second.grant.cpu->exclusive.to_string() == "6");
  for (const char* taken : {"2", "3", "5-6"}) {
    CAPTURE(taken);
    CHECK(error_of(fixture.create(a_spec(taken))).code == ErrorCode::CpuTaken);
  }
  // core_ids inside a pool take these CPUs from it.
  REQUIRE(fixture.create(a_spec("10")));
  CHECK_FALSE(free_cpus(fixture.state()).intersects(CpuSet{2, 3, 4, 5, 6, 7, 10, 11}));
}

TEST_CASE("core_ids inside an exclusive pool request its CPUs") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  Spec spec = a_spec("4");
  spec.tasks = {a_process(10)};
  spec.task_cpus = fixture.everywhere;
  const auto workload = value_of(fixture.create(spec));
  REQUIRE(workload.grant.cpu);
  CHECK(workload.grant.cpu->pool == "fast");
  CHECK(workload.grant.cpu->exclusive.to_string() == "4");
  CHECK(workload.grant.cpu->idle_siblings.to_string() == "5");
  CHECK_FALSE(workload.spec.cpu);
  CHECK(fixture.runs_on(10) == "4");
  const Error sibling = error_of(fixture.create(a_spec("5")));
  CHECK(sibling.code == ErrorCode::CpuTaken);
  CHECK(sibling.field == "/core_ids");

  // Kept while it is offline, and by a change of something else.
  CHECK(fixture.patch(workload.id, {.name = "feed"}));
  const auto ways = value_of(fixture.patch(workload.id, {.cache = members<CacheRequest>(R"({"max": 3, "min": 3})")}));
  CHECK(ways.grant.cpu == workload.grant.cpu);

  // Other CPUs of the pool, and then CPUs outside of it: its task runs where it did.
  SpecPatch moved{.core_ids = std::vector<std::string>{"6"}, .cpus = CpuSet{6}};
  REQUIRE(fixture.patch(workload.id, moved));
  CHECK(fixture.runs_on(10) == "6");
  SpecPatch outside{.core_ids = std::vector<std::string>{"8"}, .cpus = CpuSet{8}};
  const auto left = value_of(fixture.patch(workload.id, outside));
  CHECK_FALSE(left.grant.cpu);
  CHECK(fixture.runs_on(10) == "0-15");
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree == before);
}

TEST_CASE("the client that asks for its own CPUs runs in a scope, which keeps its name") {
  Fixture fixture;
  const cpuset::Target scope{.kind = cpuset::Target::Kind::Scope, .name = "nrd-1.scope", .task = a_process(10)};
  fixture.hardware.tree.cpuset.targets[scope] = {.cpus = fixture.everywhere};
  fixture.hardware.tree.cpuset
      .targets[{.kind = cpuset::Target::Kind::Scope, .name = "nrd-2.scope", .task = a_process(10)}] = {
      .cpus = fixture.everywhere};
  Spec spec = for_cpus({.pool = "fast", .count = 2}, {a_process(10)});
  spec.owner = Owner{.pid = 10, .start = 7, .boot_id = "boot-1"};
  spec.runs_caller = true;
  spec.given_id = "feed";
  const auto workload = value_of(fixture.create(spec));
  CHECK(workload.grant.cpu->has_scope);
  CHECK(fixture.hardware.tree.cpuset.targets.at(scope).cpus.to_string() == "2,4");
  CHECK(fixture.runs_on(10) == "0-15");  // the affinity is its own affair
  CHECK(is_applied(fixture.state(), workload));
  REQUIRE(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"count": 1})")}));
  CHECK(fixture.hardware.tree.cpuset.targets.at(scope).cpus.size() == 1);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree.cpuset.targets.at(scope).cpus == fixture.everywhere);

  // Its first process ends and leaves others in the scope: they get all CPUs with the deletion.
  const auto left = value_of(fixture.create(spec));
  const cpuset::Target second{.kind = cpuset::Target::Kind::Scope, .name = "nrd-2.scope", .task = a_process(10)};
  CHECK(fixture.hardware.tree.cpuset.targets.at(second).cpus.to_string() == "2,4");
  fixture.hardware.tasks.erase(a_process(10));
  fixture.transaction->reap_tasks();
  REQUIRE(fixture.remove(left.id));
  CHECK(fixture.hardware.tree.cpuset.targets.at(second).cpus == fixture.everywhere);
  CHECK(fixture.store.baselines().cpu_sets.empty());
  fixture.hardware.add_task(a_process(10), fixture.everywhere);

  // Without systemd by its affinity.
  fixture.hardware.facts.cpuset.no_scopes = "systemd is not the init of this host";
  fixture.transaction->repair();
  spec.given_id = "";
  REQUIRE(fixture.create(spec));
  CHECK(fixture.runs_on(10) == "2,4");
}

TEST_CASE("ways and frequencies follow the granted CPUs") {
  Fixture fixture;
  Spec spec = for_cpus({.pool = "fast", .count = 2, .near = {"node:1"}}, {a_process(10)});
  spec.near_cpus = {*CpuSet::parse("8-15")};
  spec.cache = CacheRequest{.max = 2, .min = 2};
  spec.frequency = FrequencyRequest{.min = 20, .max = 22};
  spec.frequency->shared_domain = FrequencyRequest::SharedDomain::Allow;
  const auto workload = value_of(fixture.create(spec));
  CHECK(workload.grant.cpu->exclusive.to_string() == "10,12");
  REQUIRE(workload.grant.ways.size() == 1);
  CHECK(workload.grant.ways.contains(CacheId{3, 1}));
  CHECK(fixture.cpus(workload.grant.clos.value) == "10,12");
  CHECK(fixture.hardware.tree.pstate.cpus.at(CpuId{12}).max == KHz{2'200'000});
}

TEST_CASE("all or nothing: CPUs, ways and frequencies") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  Spec spec = for_cpus({.pool = "fast", .count = 2}, {a_process(10)});
  spec.cache = CacheRequest{.max = 30, .min = 30};
  CHECK(error_of(fixture.create(spec)).field == "/cache/max");
  spec.cache = CacheRequest{.max = 2, .min = 2};
  spec.frequency = FrequencyRequest{.min = 99, .max = 99};
  CHECK(error_of(fixture.create(spec)).field == "/pstate/min_ratio");
  spec.frequency.reset();
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  spec.cpu->count = 5;
  const Error without_cpus = error_of(fixture.create(spec));
  CHECK(without_cpus.code == ErrorCode::NotEnough);
  CHECK(without_cpus.field == "/cpu/count");
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.state().workloads.size() == 1);
  // More than the pool ever has.
  spec.cpu->count = 7;
  CHECK(fixture.create(spec).error().code == ErrorCode::BadRequest);
}

TEST_CASE("a failed write anywhere leaves nothing behind") {
  Spec spec = for_cpus({.pool = "fast", .count = 2}, {a_process(10), a_process(20)});
  spec.cache = CacheRequest{.max = 2, .min = 2};
  check_failed_writes<Fixture>(spec, 5);
}

TEST_CASE("a change of the number keeps the granted CPUs") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)})));
  const auto grown = value_of(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"count": 3})")}));
  CHECK(grown.grant.cpu->exclusive.to_string() == "2,4,6");
  CHECK(fixture.runs_on(10) == "2,4,6");
  const auto shrunk = value_of(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"count": 1})")}));
  CHECK(shrunk.grant.cpu->exclusive.size() == 1);
  CHECK(shrunk.grant.cpu->exclusive.is_subset_of(grown.grant.cpu->exclusive));
  const auto by_cores = value_of(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"cores": 1})")}));
  CHECK(by_cores.grant.cpu->exclusive.size() == 2);
  // Another change keeps the CPUs, whatever else would be better now.
  const auto renamed = value_of(fixture.patch(workload.id, {.cache = nrd::testing::max_and_min(2, 2)}));
  CHECK(renamed.grant.cpu == by_cores.grant.cpu);
}

TEST_CASE("members of a shared pool run on all its CPUs") {
  Fixture fixture;
  const auto first = fixture.create(for_cpus({.pool = "common"}, {a_process(10)}));
  const auto second = fixture.create(for_cpus({.pool = "common"}, {a_process(20)}));
  REQUIRE((first && second));
  CHECK(fixture.runs_on(10) == "8-9");
  CHECK(fixture.runs_on(20) == "8-9");
  CHECK(first->grant.cpu->exclusive.empty());
  // They shrink with the pool's online CPUs and grow back.
  fixture.hardware.facts.rdt.online.remove(CpuId{9});
  fixture.transaction->repair();
  CHECK(fixture.runs_on(10) == "8");
  fixture.hardware.facts.rdt.online.add(CpuId{9});
  fixture.transaction->repair();
  CHECK(fixture.runs_on(10) == "8-9");
  CHECK(fixture.create(for_cpus({.pool = "common"})).error().field == "/task_ids");
  CHECK(fixture.create(for_cpus({.pool = "common", .count = 1}, {a_process(30)})).error().field == "/cpu/count");
}

TEST_CASE("a task whose cgroup lacks the CPUs is refused before anything is written") {
  Fixture fixture;
  fixture.hardware.tree.cpuset.groups[{.task = a_process(10)}] = {.available = {0, 1, 2}, .parent = "/system.slice"};
  const uint64_t writes = fixture.hardware.writes;
  const Error refused = error_of(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)})));
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.field == "/task_ids");
  CHECK(refused.message == "task 10 cannot run on CPU 2,4: its cgroup /system.slice has CPU 0-2");
  CHECK(fixture.hardware.writes == writes);
  CHECK(fixture.create(for_cpus({.pool = "fast", .cpus = {2}}, {a_process(10)})));
}

TEST_CASE("the last CPU of a workload goes offline: the problem is reported until one is back") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(for_cpus({.pool = "fast", .count = 1}, {a_process(10)})));
  fixture.hardware.facts.rdt.online.remove(CpuId{2});
  fixture.transaction->repair();
  CHECK_FALSE(is_applied(fixture.state(), workload));
  CHECK(problem_of(fixture.state()).find("all CPUs of workload 1 are offline") != std::string::npos);
  fixture.hardware.facts.rdt.online.add(CpuId{2});
  fixture.transaction->repair();
  CHECK(problem_of(fixture.state()).empty());
  CHECK(is_applied(fixture.state(), workload));
}

TEST_CASE("other software changes where a task runs: nrd restores the grant") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)})));
  for (auto& [target, masks] : fixture.hardware.tree.cpuset.targets) {
    if (target.task == a_process(10)) masks.cpus = fixture.everywhere;
  }
  fixture.transaction->repair();
  CHECK(fixture.runs_on(10) == "2,4");
  CHECK(fixture.state().health.drift_repairs == 1);
}

TEST_CASE("grants survive a restart and a reboot") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)})));
  fixture.start();
  CHECK(fixture.state().workloads.at(workload.id).grant == workload.grant);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.runs_on(10) == "0-15");

  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)})));
  fixture.hardware.reboot("boot-2");
  fixture.start();
  REQUIRE(fixture.state().workloads.size() == 1);  // its CPUs are still reserved, its task has ended
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("a crash between the claim and the commit of a request leaves no mask and no baseline after the next start") {
  bool is_written = false;
  SUBCASE("before the write") {}
  SUBCASE("after the write") { is_written = true; }
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)})));
  REQUIRE(fixture.store.baselines().cpu_sets.size() == 1);
  fixture.store.records.workloads.clear();
  if (!is_written) fixture.hardware.tree = before;
  fixture.start();
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("a request that a pool cannot grant is refused at its member") {
  struct Row {
    CpuRequest request;
    const char* field;
    ErrorCode code;
  };
  Fixture fixture;
  for (const auto& [request, field, code] :
       {Row{{.pool = "fat", .count = 1}, "/cpu/pool", ErrorCode::BadRequest},
        Row{{.count = 1}, "/cpu/pool", ErrorCode::BadRequest},
        Row{{.pool = "fast"}, "/cpu/count", ErrorCode::BadRequest},
        Row{{.pool = "fast", .count = 1, .cores = 1}, "/cpu/count", ErrorCode::BadRequest},
        Row{{.pool = "fast", .cpus = CpuSet{8}}, "/cpu/cpus", ErrorCode::BadRequest},
        Row{{.pool = "fast", .count = 1, .apart = {"9"}}, "/cpu/apart/0", ErrorCode::BadRequest},
        Row{{.pool = "fast", .count = 1, .level = cpuset::Level::Package}, "/cpu/level", ErrorCode::BadRequest}}) {
    CAPTURE(field);
    const Error refused = error_of(fixture.create(for_cpus(request)));
    CHECK(refused.field == field);
    CHECK(refused.code == code);
  }
  Spec both = for_cpus({.pool = "fast", .count = 1});
  both.core_ids = {"4"};
  both.cpus = CpuSet{4};
  CHECK(fixture.create(both).error().field == "/core_ids");
}

TEST_CASE("without a pool nothing changes, and cpu is refused") {
  nrd::testing::TransactionFixture fixture;
  fixture.start();
  CHECK(error_of(fixture.create(for_cpus({.count = 1}))).code == ErrorCode::Unsupported);
}

TEST_CASE("a reload keeps grants: a change that would revoke one is refused with the workloads") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  NodeConfig without = fixture.config;
  without.cpu_pools.front().cpus = *CpuSet::parse("4-7,10-15");
  const Error refused = error_of(fixture.transaction->reconfigure(without, ReloadMode::Apply));
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.message.find("workloads 1 would") != std::string::npos);
  NodeConfig larger = fixture.config;
  larger.cpu_pools.back().cpus = CpuSet{8};
  CHECK(fixture.transaction->reconfigure(larger, ReloadMode::Apply));
}

TEST_CASE("ways of a workload change while one of its CPUs is offline, and its frequencies stay") {
  Fixture fixture;
  Spec spec = for_cpus({.pool = "fast", .count = 2}, {a_process(10)});
  spec.cache = CacheRequest{.max = 2, .min = 2};
  spec.frequency = FrequencyRequest{.min = 12, .max = 20};
  const auto workload = value_of(fixture.create(spec));
  fixture.hardware.facts.rdt.online.remove(CpuId{4});
  fixture.hardware.facts.pstate.cpus.edit().erase(CpuId{4});
  fixture.transaction->repair();
  const auto patched = value_of(fixture.patch(workload.id, {.cache = nrd::testing::max_and_min(3, 3)}));
  CHECK(patched.grant.cpu == workload.grant.cpu);
  CHECK(patched.grant.ways.at(CacheId{3, 0}).count() == 3);
  CHECK(patched.grant.frequencies == workload.grant.frequencies);
  const SpecPatch faster{.frequency = std::optional(FrequencyRequest{.min = 12, .max = 25})};
  CHECK(error_of(fixture.patch(workload.id, faster)).message ==
        "the frequency of CPU 4 cannot be set here: it is offline");
}

}  // namespace nrd::cpu_pools_test
