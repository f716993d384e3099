#include "engine/transaction/transaction.h"

#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::transaction_test {

using namespace nrd::testing;

namespace {

struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(const nrd::testing::NodeShape& shape = {}, bool shrink = false)
      : TransactionFixture(shape, {.shrink = shrink}) {
    start();
  }
  Result<Workload> patch_ways(WorkloadId id, uint32_t max, uint32_t min) {
    return patch(id, {.core_ids = {}, .cpus = {}, .cache = nrd::testing::max_and_min(max, min)});
  }
};

}  // namespace

TEST_CASE("a guarantee gets its ways on the cache its CPUs touch and on no other") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(a_spec("4-7").ways(2, 2)));
  CHECK(workload.grant.clos == ClosId{2});
  CHECK(fixture.drawn(2, 0) == ".##........");
  CHECK(fixture.drawn(2, 1) == "###########");
  CHECK(fixture.drawn(0, 0) == "...########");
  CHECK(fixture.drawn(0, 1) == "###########");
  CHECK(fixture.cpus(2) == "4-7");
  CHECK(fixture.cpus(0) == "0-3,8-15");
}

TEST_CASE("a delete leaves no trace") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  const auto workload = value_of(fixture.create(a_spec("2,10").ways(3, 3)));
  REQUIRE(fixture.hardware.tree != before);
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.records.workloads.empty());
}

TEST_CASE("a second guarantee never shares a way with the first") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(3, 3)));
  REQUIRE(fixture.create(a_spec("1").ways(2, 2)));
  CHECK(fixture.drawn(2, 0) == ".###.......");
  CHECK(fixture.drawn(3, 0) == "....##.....");
  CHECK(fixture.drawn(0, 0) == "......#####");
  const Error third = error_of(fixture.create(a_spec("2").ways(1, 1)));
  CHECK(third.code == ErrorCode::NotEnough);
  CHECK(third.message ==
        "needs 1 contiguous ways on cache 0; the guarantee pool has 0 of 5 ways left; 5 free ways belong to besteffort "
        "and shared");
  CHECK(fixture.create(a_spec("8").ways(5, 5)));
}

TEST_CASE("a CPU belongs to one workload") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("4-7").ways(1, 1)));
  const Error second = error_of(fixture.create(a_spec("6-9").ways(1, 1)));
  CHECK(second.code == ErrorCode::CpuTaken);
  CHECK(second.subject == "6 7");
}

TEST_CASE("shared workloads have one class and the whole shared pool") {
  Fixture fixture;
  const auto first = fixture.create(a_spec("0").ways(0, 0));
  const auto second = fixture.create(a_spec("9").ways(0, 0));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->grant.clos == second->grant.clos);
  CHECK(fixture.drawn(2, 0) == ".........##");
  CHECK(fixture.drawn(2, 1) == ".........##");
  REQUIRE(fixture.remove(first->id));
  CHECK(fixture.drawn(2, 0) == "###########");
  CHECK(fixture.drawn(2, 1) == ".........##");
}

TEST_CASE("without shrink a best-effort workload keeps its ways") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(2, 1)));
  REQUIRE(fixture.create(a_spec("1").ways(3, 1)));
  CHECK(fixture.drawn(2, 0) == ".......##..");
  CHECK(fixture.drawn(3, 0) == "......#....");
  CHECK_FALSE(fixture.create(a_spec("2").ways(2, 1)));
}

TEST_CASE("a guarantee gets ways shared with I/O last") {
  Fixture fixture({.shareable = WayMask::run(4, 2)});
  REQUIRE(fixture.create(a_spec("0").ways(2, 2)));
  CHECK(fixture.drawn(2, 0) == ".##........");
  REQUIRE(fixture.create(a_spec("1").ways(1, 1)));
  CHECK(fixture.drawn(3, 0) == "...#.......");
}

TEST_CASE("the root class moves to the longest free run") {
  Fixture fixture({.ways = 15});  // OS 1, guarantee 6, best effort 5, shared 3
  const auto os = [&fixture] {
    return nrd::testing::picture(fixture.hardware.tree.rdt.classes.at(ClosId{0}).ways.at(CacheId{3, 0}), 15);
  };
  const auto first = fixture.create(a_spec("0").ways(4, 4));
  REQUIRE(fixture.create(a_spec("1").ways(2, 2)));
  CHECK(os() == ".......########");
  CHECK(idle_ways(fixture.transaction->state(), CacheId{3, 0}).count() == 1);
  REQUIRE(fixture.create(a_spec("2").ways(5, 1)));
  REQUIRE(fixture.create(a_spec("3").ways(0, 0)));
  CHECK(os() == "#..............");
  CHECK(idle_ways(fixture.transaction->state(), CacheId{3, 0}).empty());
  REQUIRE(fixture.remove(first->id));
  CHECK(os() == "#####..........");
}

TEST_CASE("with sparse masks the root class has every free way") {
  Fixture fixture({.sparse_masks = true});
  REQUIRE(fixture.create(a_spec("0").ways(4, 4)));
  CHECK(fixture.drawn(0, 0) == "#....######");
  CHECK(idle_ways(fixture.transaction->state(), CacheId{3, 0}).empty());
}

TEST_CASE("a foreign group that narrows the run of the root class is no drift") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0").ways(2, 2)));
  fixture.hardware.tree.rdt.foreign["theirs"] = {.ways = {{CacheId{3, 0}, WayMask::run(8, 3)}}};
  fixture.transaction->repair();
  CHECK(fixture.drawn(0, 0) == "...#####...");
  CHECK(fixture.transaction->state().health.drift_repairs == 0);
  fixture.hardware.tree.rdt.foreign["theirs"].ways[CacheId{3, 0}] = WayMask::run(0, 11 - 2);
  fixture.transaction->repair();
  CHECK(fixture.drawn(0, 0) == ".........##");
  fixture.hardware.tree.rdt.foreign["theirs"].ways[CacheId{3, 0}] = WayMask::run(0, 1) | WayMask::run(3, 8);
  fixture.transaction->repair();
  CHECK(fixture.drawn(0, 0) == "#..........");  // the floor is never granted, so it is shared with this group only
  fixture.hardware.tree.rdt.classes[ClosId{0}].ways[CacheId{3, 0}] = WayMask::all(11);
  fixture.hardware.tree.rdt.foreign.clear();
  fixture.transaction->repair();
  CHECK(fixture.drawn(0, 0) == "...########");
  CHECK(fixture.transaction->state().health.drift_repairs == 1);
}

TEST_CASE("with a locked OS floor the root class has the remaining ways") {
  nrd::testing::TransactionFixture fixture({}, {.pools = {.os = 2}});
  fixture.start();
  REQUIRE(fixture.create(a_spec("0").ways(2, 2)));
  CHECK(fixture.drawn(2, 0) == "..##.......");
  rdt::Class& theirs = fixture.hardware.tree.rdt.foreign["theirs"];
  theirs.ways[CacheId{3, 0}] = WayMask::run(0, 2) | WayMask::run(4, 6);
  fixture.transaction->repair();
  CHECK(fixture.drawn(0, 0) == "##.........");
  theirs.mode = rdt::GroupMode::Exclusive;
  fixture.transaction->repair();
  CHECK(fixture.drawn(0, 0) == "..........#");
}

TEST_CASE("a refusal names the free ways of each pool") {
  Fixture fixture({.ways = 20});  // OS 1, guarantee 10, best effort 6, shared 3
  const auto fill = [&](const char* cpu, unsigned ways) { return fixture.create(a_spec(cpu).ways(ways, ways)); };
  REQUIRE(fill("0", 4));
  const auto middle = fill("1", 3);
  REQUIRE(fill("2", 3));
  CHECK(fill("3", 4).error().message ==
        "needs 4 contiguous ways on cache 0; the guarantee pool has 0 of 10 ways left; 9 free ways belong to "
        "besteffort and shared");
  REQUIRE(fixture.remove(middle->id));
  REQUIRE(fixture.create(a_spec("4").ways(6, 6 - 1)));
  REQUIRE(fixture.create(a_spec("5").ways(0, 0)));
  CHECK(fill("3", 4).error().message == "needs 4 contiguous ways on cache 0; the guarantee pool has 3 of 10 ways left");
  CHECK(fixture.create(a_spec("6").ways(2, 1)).error().message ==
        "needs at least 1 ways on cache 0; the best-effort workloads there leave 0 of 6 ways; 3 free ways belong to "
        "guarantee");
}

TEST_CASE("a patch moves a workload between pools and CPUs") {
  Fixture fixture;
  const auto workload = fixture.create(a_spec("0").ways(2, 2));
  REQUIRE(fixture.patch_ways(workload->id, 3, 1));
  CHECK(fixture.drawn(2, 0) == "......###..");
  REQUIRE(fixture.patch_ways(workload->id, 0, 0));
  CHECK(fixture.drawn(2, 0) == ".........##");
  REQUIRE(fixture.apply(PatchWorkload{
      workload->id,
      {.core_ids = std::vector<std::string>{"9"}, .cpus = CpuSet{9}, .cache = nrd::testing::max_and_min(1, 1)}}));
  CHECK(fixture.drawn(2, 0) == "###########");
  CHECK(fixture.drawn(2, 1) == ".#.........");
  CHECK(fixture.cpus(2) == "9");
}

TEST_CASE("refused requests name the field") {
  Fixture fixture({.classes = 16, .min_ways = 2});
  struct Row {
    Spec spec;
    ErrorCode code;
    const char* field;
  };
  const std::vector<Row> rows{{a_spec("0").ways(2, 0), ErrorCode::BadRequest, "/cache/min"},
                              {a_spec("0").ways(2, 3), ErrorCode::BadRequest, "/cache/min"},
                              {a_spec("0").ways(9, 9), ErrorCode::BadRequest, "/cache/max"},
                              {a_spec("0").ways(1, 1), ErrorCode::BadRequest, "/cache/max"},
                              {a_spec("0").ways(2, 1), ErrorCode::BadRequest, "/cache/min"},
                              {a_spec("99").ways(2, 2), ErrorCode::BadRequest, "/core_ids/0"}};
  const Observed before = fixture.hardware.tree;
  for (const Row& row : rows) {
    const Error refused = error_of(fixture.create(row.spec));
    CHECK(refused.code == row.code);
    CHECK(refused.field == row.field);
  }
  fixture.hardware.facts.rdt.online.remove(CpuId{5});
  fixture.start();
  CHECK(fixture.create(a_spec("4-6").ways(2, 2)).error().message == "CPU 5 is offline");
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.commits == 0);
}

TEST_CASE("COS1 is granted last and a refusal explains that no class is free") {
  Fixture fixture({.classes = 4});
  CHECK(fixture.create(a_spec("0").ways(1, 1))->grant.clos == ClosId{2});
  CHECK(fixture.create(a_spec("1").ways(1, 1))->grant.clos == ClosId{3});
  CHECK(fixture.create(a_spec("2").ways(1, 1))->grant.clos == ClosId{1});
  CHECK(fixture.create(a_spec("3").ways(1, 1)).error().code == ErrorCode::NoClass);
}

TEST_CASE("foreign groups are untouched and their ways count as taken") {
  Fixture fixture;
  fixture.hardware.tree.rdt.classes[ClosId{2}] = fixture.hardware.new_group();
  fixture.hardware.tree.rdt.classes[ClosId{2}].ways[CacheId{3, 0}] = WayMask::run(4, 2);
  fixture.hardware.tree.rdt.classes[ClosId{0}].cpus.remove(CpuId{3});
  fixture.hardware.tree.rdt.foreign["theirs"] = {.ways = {{CacheId{3, 0}, WayMask::run(3, 1)}}, .cpus = {3}};
  fixture.start();
  const auto workload = value_of(fixture.create(a_spec("0").ways(2, 2)));
  CHECK(workload.grant.clos == ClosId{3});
  CHECK(fixture.drawn(3, 0) == ".##........");
  CHECK(fixture.drawn(2, 0) == "....##.....");
  CHECK(fixture.create(a_spec("3").ways(1, 1)).error().code == ErrorCode::CpuTaken);
}

TEST_CASE("a restart preserves all settings, and a reboot restores them") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("4-7").ways(2, 2)));
  REQUIRE(fixture.create(a_spec("8").ways(3, 1)));
  const Observed before = fixture.hardware.tree;
  const uint64_t writes = fixture.hardware.writes;
  fixture.start();
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.hardware.writes == writes);
  fixture.hardware.reboot("boot-2");
  fixture.start();
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.records.boot_id == "boot-2");
  REQUIRE(fixture.remove(WorkloadId{1}));
  REQUIRE(fixture.remove(WorkloadId{2}));
  const FakeHardware fresh({});
  CHECK(fixture.hardware.tree == fresh.tree);
}

TEST_CASE("every hardware write failing once leaves everything as it was") {
  uint64_t failures = 0;
  for (uint64_t nth = 1;; ++nth) {
    Fixture fixture({}, true);
    REQUIRE(fixture.create(a_spec("0").ways(3, 1)));
    const Observed before = fixture.hardware.tree;
    const store::Records stored = fixture.store.records;
    fixture.hardware.fail_at_write = fixture.hardware.writes + nth;
    const auto second = fixture.create(a_spec("1,8").ways(3, 1));
    if (second) break;
    ++failures;
    CHECK(second.error().code == ErrorCode::Hardware);
    CHECK(fixture.hardware.tree == before);
    CHECK(fixture.store.records.workloads == stored.workloads);
    CHECK(fixture.transaction->state().health.hardware_problem.empty());
    CHECK(fixture.create(a_spec("1,8").ways(3, 1)));
  }
  CHECK(failures == 7);  // a group, three masks (COS2 gives way), the OS on cache 1, two CPUs
}

TEST_CASE("settings are repaired once failing hardware works again") {
  for (uint64_t nth = 2; nth <= 6; ++nth) {
    CAPTURE(nth);
    Fixture fixture;
    const Observed before = fixture.hardware.tree;
    fixture.hardware.broken_from_write = nth;
    CHECK(fixture.create(a_spec("4-7").ways(2, 2)).error().code == ErrorCode::Hardware);
    CHECK(fixture.hardware.tree != before);
    fixture.transaction->repair();
    CHECK_FALSE(fixture.transaction->state().health.hardware_problem.empty());
    fixture.hardware.broken_from_write.reset();
    fixture.transaction->repair();
    CHECK(fixture.hardware.tree == before);
    CHECK(fixture.transaction->state().health.hardware_problem.empty());
  }
}

TEST_CASE("a failed commit leaves hardware and state unchanged") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("0-1").ways(2, 2)));
  const Observed before = fixture.hardware.tree;
  fixture.store.next_outcomes = {store::Committed::Done, store::Committed::NotDone};  // the claim, then the change
  CHECK(error_of(fixture.create(a_spec("2").ways(2, 2))).code == ErrorCode::Store);
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.transaction->state().workloads.size() == 1);
  CHECK(fixture.create(a_spec("2").ways(2, 2))->id == WorkloadId{2});
}

TEST_CASE("a delete that cannot be committed leaves the workload whole") {
  Fixture fixture;
  const auto workload = fixture.create(a_spec("0-1").ways(2, 2));
  const Observed before = fixture.hardware.tree;
  fixture.store.next_outcomes = {store::Committed::NotDone};
  CHECK_FALSE(fixture.remove(workload->id));
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.transaction->state().workloads.at(workload->id) == *workload);
}

TEST_CASE("reopening the store resolves an unknown commit") {
  for (const bool stored : {false, true}) {
    CAPTURE(stored);
    Fixture fixture;
    const auto first = fixture.create(a_spec("0").ways(2, 2));
    const Observed before = fixture.hardware.tree;
    fixture.store.unknown_is_stored = stored;
    fixture.store.next_outcomes = {store::Committed::Unknown};
    const auto removed = fixture.remove(first->id);
    CHECK(removed.has_value() == stored);
    CHECK(fixture.transaction->state().workloads.empty() == stored);
    CHECK((fixture.hardware.tree == before) == !stored);
    CHECK(fixture.transaction->state().revision == fixture.store.records.revision);
  }
}

TEST_CASE("changes are rejected until the store is reopened, then its state is applied") {
  for (const bool stored : {false, true}) {
    CAPTURE(stored);
    Fixture fixture;
    const auto first = fixture.create(a_spec("0").ways(2, 2));
    const Observed before = fixture.hardware.tree;
    fixture.store.unknown_is_stored = stored;
    fixture.store.reopens = false;
    fixture.store.next_outcomes = {store::Committed::Unknown};
    CHECK(fixture.remove(first->id).error().code == ErrorCode::Frozen);
    CHECK(fixture.transaction->state().health.writes_frozen);
    CHECK(fixture.transaction->state().workloads.size() == 1);
    CHECK(fixture.hardware.tree == before);
    CHECK(fixture.create(a_spec("1").ways(1, 1)).error().code == ErrorCode::Frozen);
    fixture.store.reopens = true;
    fixture.transaction->repair();
    CHECK_FALSE(fixture.transaction->state().health.writes_frozen);
    CHECK(fixture.transaction->state().workloads.empty() == stored);
    CHECK(fixture.create(a_spec("1").ways(1, 1)));
    CHECK(fixture.drawn(2, 0) == (stored ? ".#........." : ".##........"));
  }
}

TEST_CASE("a claim with an unknown outcome rolls back the whole batch") {
  Fixture fixture;
  const Observed before = fixture.hardware.tree;
  fixture.store.reopens = false;
  fixture.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
  const std::vector<Command> commands{CreateWorkload{a_spec("0").ways(1, 1)}, CreateWorkload{a_spec("1").ways(1, 1)}};
  for (const auto& outcome : fixture.transaction->apply(commands)) CHECK(outcome.error().code == ErrorCode::Frozen);
  CHECK(fixture.hardware.tree == before);
  fixture.store.reopens = true;
  fixture.transaction->repair();
  CHECK(fixture.transaction->state().workloads.empty());
  CHECK(fixture.create(a_spec("0").ways(1, 1))->id == WorkloadId{1});
}

TEST_CASE("a claim that turns out to be stored keeps the rest of its batch") {
  Fixture fixture;
  fixture.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
  fixture.store.unknown_is_stored = true;
  const std::vector<Command> commands{CreateWorkload{.spec = a_spec("0").ways(1, 1), .key = IdempotencyKey{"k", "f"}},
                                      CreateWorkload{a_spec("1").ways(1, 1)}};
  for (const auto& outcome : fixture.transaction->apply(commands)) REQUIRE(outcome);
  CHECK(fixture.store.records.workloads.size() == 2);
  CHECK(fixture.store.records.keys.size() == 1);
}

TEST_CASE("commands that wait together share one commit") {
  Fixture fixture;
  std::vector<Command> commands;
  for (unsigned cpu = 0; cpu < 4; ++cpu) commands.emplace_back(CreateWorkload{a_spec(std::to_string(cpu)).ways(1, 1)});
  for (const auto& outcome : fixture.transaction->apply(commands)) REQUIRE(outcome);
  commands.clear();
  for (unsigned id = 1; id <= 4; ++id) commands.emplace_back(DeleteWorkload{WorkloadId{id}});
  const uint64_t commits = fixture.store.commits;
  for (const auto& outcome : fixture.transaction->apply(commands)) REQUIRE(outcome);
  CHECK(fixture.store.commits == commits + 1);
}

TEST_CASE("external changes to unused settings are kept") {
  Fixture fixture;
  const auto workload = fixture.create(a_spec("4").ways(2, 2));
  REQUIRE(fixture.remove(workload->id));
  fixture.hardware.tree.rdt.classes[ClosId{2}] = fixture.hardware.new_group();
  fixture.hardware.tree.rdt.classes[ClosId{2}].ways[CacheId{3, 0}] = WayMask::run(4, 2);
  const Observed theirs = fixture.hardware.tree;
  fixture.transaction->repair();
  CHECK(fixture.hardware.tree == theirs);
  const auto next = value_of(fixture.create(a_spec("4").ways(2, 2)));
  CHECK(next.grant.clos == ClosId{3});
  CHECK(fixture.drawn(2, 0) == "....##.....");
  CHECK(fixture.drawn(3, 0) == "..##.......");
}

TEST_CASE("an unplugged CPU is left out and joins its class when it comes back") {
  Fixture fixture;
  REQUIRE(fixture.create(a_spec("4-5").ways(2, 2)));
  const CpuSet online = fixture.hardware.facts.rdt.online;
  fixture.hardware.facts.rdt.online.remove(CpuId{5});
  fixture.hardware.tree.rdt.classes[ClosId{2}].cpus.remove(CpuId{5});
  fixture.transaction->repair();
  CHECK(fixture.cpus(2) == "4");
  fixture.hardware.facts.rdt.online = online;
  fixture.hardware.tree.rdt.classes[ClosId{0}].cpus.add(CpuId{5});
  fixture.transaction->repair();
  CHECK(fixture.cpus(2) == "4-5");
}

TEST_CASE("a refusal names the reason although the node has changed since the last observation") {
  Fixture fixture;
  const Spec spec = a_spec("4").ways(2, 2).frequency({.min = 12, .max = 30});
  const Observed before = fixture.hardware.tree;
  SUBCASE("turbo is off") {
    fixture.hardware.tree.pstate.turbo = false;
    fixture.hardware.stuck = {4};
    const Error refused = error_of(fixture.create(spec));
    CHECK(refused.code == ErrorCode::BadRequest);
    CHECK(refused.field == "/pstate/max_ratio");
    CHECK(refused.message == "CPU 4 does not support this frequency while turbo is off");
    fixture.hardware.stuck = {};
    fixture.hardware.tree.pstate.turbo = before.pstate.turbo;
  }
  SUBCASE("the CPU is offline") {
    fixture.hardware.facts.rdt.online.remove(CpuId{4});
    fixture.hardware.facts.pstate.cpus.edit().erase(CpuId{4});
    fixture.hardware.tree.pstate.cpus.edit().erase(CpuId{4});
    const Error refused = error_of(fixture.create(spec));
    CHECK(refused.code == ErrorCode::BadRequest);
    CHECK(refused.message == "CPU 4 is offline");
    fixture.hardware.tree.pstate.cpus = before.pstate.cpus;
  }
  CHECK(fixture.hardware.tree == before);
  CHECK(is_ok(fixture.state()));
}

TEST_CASE("retrying a create with its key gives one workload and one commit") {
  Fixture fixture;
  const CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}};
  const auto first = fixture.apply(create);
  REQUIRE(first);
  CHECK(fixture.store.records.keys.size() == 1);
  const uint64_t commits = fixture.store.commits;
  CHECK(fixture.apply(create) == first);
  fixture.start();
  CHECK(fixture.apply(create) == first);
  CHECK(fixture.store.commits == commits);
  CHECK(fixture.apply(CreateWorkload{.spec = a_spec("5").ways(1, 1), .key = IdempotencyKey{"k", "g"}}).error().code ==
        ErrorCode::KeyReused);
  REQUIRE(fixture.remove(first->id));
  CHECK(fixture.apply(create).error().code == ErrorCode::Conflict);
}

TEST_CASE("a retry is one of the same request after the host has set its clock") {
  Fixture fixture;
  fixture.clock.step = std::chrono::hours(-24 * 365 * 56);  // no time yet at boot
  fixture.start();
  const CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}};
  const auto first = fixture.apply(create);
  REQUIRE(first);
  fixture.clock.step = {};
  CHECK(fixture.apply(create) == first);
}

TEST_CASE("whether a key was used can be looked up without using it") {
  Fixture fixture;
  const CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}};
  CHECK(fixture.transaction->find_created(*create.key).error().code == ErrorCode::NotFound);
  CHECK(fixture.store.records.keys.empty());
  const auto created = value_of(fixture.apply(create));
  CHECK(fixture.transaction->find_created(*create.key)->workload.id == created.id);
  CHECK(fixture.transaction->find_created({"k", "g"}).error().code == ErrorCode::KeyReused);
}

TEST_CASE("a key is stored with its workload or not at all") {
  for (const bool is_stored : {false, true}) {
    Fixture fixture;
    const CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}};
    // The claim, then the workload.
    fixture.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
    fixture.store.unknown_is_stored = is_stored;
    fixture.store.reopens = false;
    REQUIRE(fixture.apply(create).error().code == ErrorCode::Frozen);
    fixture.store.reopens = true;
    const auto again = value_of(fixture.apply(create));
    CHECK(again.id == WorkloadId{1});
    CHECK(fixture.store.records.workloads.size() == 1);
    CHECK(fixture.store.records.keys.size() == 1);
  }
}

TEST_CASE("of two patches in one batch that know the same revision one is stale") {
  Fixture fixture;
  const auto workload = fixture.create(a_spec("4").ways(2, 2));
  REQUIRE(workload);
  const auto patch = [&](uint32_t ways) {
    return PatchWorkload{.id = workload->id,
                         .patch = {.cache = nrd::testing::max_and_min(ways, ways)},
                         .if_revision = {{workload->revision}}};
  };
  const std::vector<Command> commands{patch(2), patch(3), patch(1), DeleteWorkload{workload->id, {{7}}}};
  const auto outcomes = fixture.transaction->apply(commands);
  CHECK(outcomes[0]);  // changes nothing, so the revision stays
  REQUIRE(outcomes[1]);
  CHECK(outcomes[1]->workload.revision == workload->revision + 1);
  CHECK(outcomes[2].error().code == ErrorCode::Stale);
  CHECK(outcomes[3].error().code == ErrorCode::Stale);
  CHECK(fixture.store.records.workloads.front().revision == workload->revision + 1);
}

TEST_CASE("a workload that shrinks for a new one gets a new revision") {
  Fixture fixture({}, true);
  const auto first = fixture.create(a_spec("4").ways(3, 1));
  const auto other = fixture.create(a_spec("12").ways(1, 1));
  REQUIRE((first && other));
  REQUIRE(fixture.create(a_spec("5").ways(3, 1)));
  CHECK(fixture.transaction->state().workloads.at(first->id).revision > first->revision);
  CHECK(fixture.transaction->state().workloads.at(other->id).revision == other->revision);
}

}  // namespace nrd::transaction_test
