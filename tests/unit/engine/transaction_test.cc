#include "engine/transaction/transaction.h"

#include <doctest/doctest.h>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

using namespace nrd;
using nrd::testing::a_spec;
using nrd::testing::FakeHardware;

namespace {

struct House : nrd::testing::WriterHouse {
  explicit House(const nrd::testing::NodeShape& shape = {}, bool shrink = false)
      : WriterHouse(shape, {.pools = {}, .shrink = shrink}) {
    start();
  }
  Result<Workload> patch_ways(WorkloadId id, uint32_t max, uint32_t min) {
    return patch(id, {.core_ids = {}, .cpus = {}, .max = max, .min = min});
  }
};

}  // namespace

TEST_CASE("a guarantee gets its ways on the cache its CPUs touch and on no other") {
  House house;
  const auto workload = house.create(a_spec("4-7").ways(2, 2));
  REQUIRE(workload);
  CHECK(workload->grant.clos == ClosId{2});
  CHECK(house.drawn(2, 0) == ".##........");
  CHECK(house.drawn(2, 1) == "###########");
  CHECK(house.drawn(0, 0) == "...########");
  CHECK(house.drawn(0, 1) == "###########");
  CHECK(house.cpus(2) == "4-7");
  CHECK(house.cpus(0) == "0-3,8-15");
}

TEST_CASE("a delete leaves no trace") {
  House house;
  const Observed before = house.hardware.tree;
  const auto workload = house.create(a_spec("2,10").ways(3, 3));
  REQUIRE(workload);
  REQUIRE(house.hardware.tree != before);
  REQUIRE(house.remove(workload->id));
  CHECK(house.hardware.tree == before);
  CHECK(house.store.records.workloads.empty());
}

TEST_CASE("a second guarantee never shares a way with the first") {
  House house;
  REQUIRE(house.create(a_spec("0").ways(3, 3)));
  REQUIRE(house.create(a_spec("1").ways(2, 2)));
  CHECK(house.drawn(2, 0) == ".###.......");
  CHECK(house.drawn(3, 0) == "....##.....");
  CHECK(house.drawn(0, 0) == "......#####");
  const auto third = house.create(a_spec("2").ways(1, 1));
  REQUIRE_FALSE(third);
  CHECK(third.error().code == ErrorCode::NotEnough);
  CHECK(third.error().message ==
        "needs 1 contiguous ways on cache 0; the guarantee pool has 0 of 5 ways left; 5 free ways belong to besteffort "
        "and shared");
  CHECK(house.create(a_spec("8").ways(5, 5)));
}

TEST_CASE("a CPU belongs to one workload") {
  House house;
  REQUIRE(house.create(a_spec("4-7").ways(1, 1)));
  const auto second = house.create(a_spec("6-9").ways(1, 1));
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::CpuTaken);
  CHECK(second.error().subject == "6 7");
}

TEST_CASE("shared workloads have one class and the whole shared pool") {
  House house;
  const auto first = house.create(a_spec("0").ways(0, 0));
  const auto second = house.create(a_spec("9").ways(0, 0));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->grant.clos == second->grant.clos);
  CHECK(house.drawn(2, 0) == ".........##");
  CHECK(house.drawn(2, 1) == ".........##");
  REQUIRE(house.remove(first->id));
  CHECK(house.drawn(2, 0) == "###########");
  CHECK(house.drawn(2, 1) == ".........##");
}

TEST_CASE("best effort gives way to newcomers and grows back") {
  House house({}, true);
  const auto first = house.create(a_spec("0").ways(3, 1));
  CHECK(house.drawn(2, 0) == "......###..");
  const auto second = house.create(a_spec("1").ways(3, 1));
  REQUIRE(second);
  CHECK(house.drawn(2, 0) == ".......##..");
  CHECK(house.drawn(3, 0) == "......#....");
  const auto third = house.create(a_spec("2").ways(2, 1));
  REQUIRE(third);
  CHECK(house.drawn(2, 0) == ".......#...");
  const auto fourth = house.create(a_spec("3").ways(2, 1));
  REQUIRE_FALSE(fourth);
  CHECK(fourth.error().code == ErrorCode::NotEnough);
  REQUIRE(house.remove(first->id));
  REQUIRE(house.remove(third->id));
  CHECK(house.drawn(3, 0) == "......###..");
  CHECK(house.store.records.workloads.front().ways.at(CacheId{0}) == WayMask::run(6, 3));
}

TEST_CASE("without shrink a best-effort workload keeps what it has") {
  House house;
  REQUIRE(house.create(a_spec("0").ways(2, 1)));
  REQUIRE(house.create(a_spec("1").ways(3, 1)));
  CHECK(house.drawn(2, 0) == ".......##..");
  CHECK(house.drawn(3, 0) == "......#....");
  CHECK_FALSE(house.create(a_spec("2").ways(2, 1)));
}

TEST_CASE("ways that I/O fills too are the last a guarantee gets") {
  House house({.shareable = WayMask::run(4, 2)});
  REQUIRE(house.create(a_spec("0").ways(2, 2)));
  CHECK(house.drawn(2, 0) == ".##........");
  REQUIRE(house.create(a_spec("1").ways(1, 1)));
  CHECK(house.drawn(3, 0) == "...#.......");
}

TEST_CASE("the root class moves to the longest run, wherever it lies, and leaves few ways idle") {
  House house({.ways = 15});  // OS 1, guarantee 6, best effort 5, shared 3
  const auto os = [&house] {
    return nrd::testing::picture(house.hardware.tree.rdt.classes.at(ClosId{0}).ways.at(CacheId{0}), 15);
  };
  const auto first = house.create(a_spec("0").ways(4, 4));
  REQUIRE(house.create(a_spec("1").ways(2, 2)));
  CHECK(os() == ".......########");
  CHECK(idle_ways(house.writer->state(), CacheId{0}).count() == 1);
  REQUIRE(house.create(a_spec("2").ways(5, 1)));
  REQUIRE(house.create(a_spec("3").ways(0, 0)));
  CHECK(os() == "#..............");
  CHECK(idle_ways(house.writer->state(), CacheId{0}).empty());
  REQUIRE(house.remove(first->id));
  CHECK(os() == "#####..........");
}

TEST_CASE("where masks may have holes the root class has every free way") {
  House house({.sparse_masks = true});
  REQUIRE(house.create(a_spec("0").ways(4, 4)));
  CHECK(house.drawn(0, 0) == "#....######");
  CHECK(idle_ways(house.writer->state(), CacheId{0}).empty());
}

TEST_CASE("a foreign group that narrows the run of the root class is no drift") {
  House house;
  REQUIRE(house.create(a_spec("0").ways(2, 2)));
  house.hardware.tree.rdt.foreign["theirs"] = {.ways = {{CacheId{0}, WayMask::run(8, 3)}}};
  house.writer->repair();
  CHECK(house.drawn(0, 0) == "...#####...");
  CHECK(house.writer->state().health.drift_repairs == 0);
  house.hardware.tree.rdt.foreign["theirs"].ways[CacheId{0}] = WayMask::run(0, 11 - 2);
  house.writer->repair();
  CHECK(house.drawn(0, 0) == ".........##");
  house.hardware.tree.rdt.foreign["theirs"].ways[CacheId{0}] = WayMask::run(0, 1) | WayMask::run(3, 8);
  house.writer->repair();
  CHECK(house.drawn(0, 0) == "#..........");  // the floor is never granted, so it is shared with this group only
  house.hardware.tree.rdt.classes[ClosId{0}].ways[CacheId{0}] = WayMask::all(11);
  house.hardware.tree.rdt.foreign.clear();
  house.writer->repair();
  CHECK(house.drawn(0, 0) == "...########");
  CHECK(house.writer->state().health.drift_repairs == 1);
}

TEST_CASE("where the floor of the OS is locked the root class has what is left") {
  nrd::testing::WriterHouse house({}, {.pools = {.os = 2}});
  house.start();
  REQUIRE(house.create(a_spec("0").ways(2, 2)));
  CHECK(house.drawn(2, 0) == "..##.......");
  rdt::Class& theirs = house.hardware.tree.rdt.foreign["theirs"];
  theirs.ways[CacheId{0}] = WayMask::run(0, 2) | WayMask::run(4, 6);
  house.writer->repair();
  CHECK(house.drawn(0, 0) == "##.........");
  theirs.mode = rdt::GroupMode::Exclusive;
  house.writer->repair();
  CHECK(house.drawn(0, 0) == "..........#");
}

TEST_CASE("a refusal tells what is left in the pool and where ways are free") {
  House house({.ways = 20});  // OS 1, guarantee 10, best effort 6, shared 3
  const auto fill = [&](const char* cpu, unsigned ways) { return house.create(a_spec(cpu).ways(ways, ways)); };
  REQUIRE(fill("0", 4));
  const auto middle = fill("1", 3);
  REQUIRE(fill("2", 3));
  CHECK(fill("3", 4).error().message ==
        "needs 4 contiguous ways on cache 0; the guarantee pool has 0 of 10 ways left; 9 free ways belong to "
        "besteffort and shared");
  REQUIRE(house.remove(middle->id));
  REQUIRE(house.create(a_spec("4").ways(6, 6 - 1)));
  REQUIRE(house.create(a_spec("5").ways(0, 0)));
  CHECK(fill("3", 4).error().message == "needs 4 contiguous ways on cache 0; the guarantee pool has 3 of 10 ways left");
  CHECK(house.create(a_spec("6").ways(2, 1)).error().message ==
        "needs at least 1 ways on cache 0; the best-effort workloads there leave 0 of 6 ways; 3 free ways belong to "
        "guarantee");
}

TEST_CASE("an unchanged patch writes nothing") {
  House house;
  const auto workload = house.create(a_spec("0").ways(2, 2));
  const uint64_t writes = house.hardware.writes;
  const uint64_t commits = house.store.commits;
  const auto patched = house.patch_ways(workload->id, 2, 2);
  REQUIRE(patched);
  CHECK(*patched == *workload);
  CHECK(house.hardware.writes == writes);
  CHECK(house.store.commits == commits);
}

TEST_CASE("a patch moves a workload between pools and CPUs") {
  House house;
  const auto workload = house.create(a_spec("0").ways(2, 2));
  REQUIRE(house.patch_ways(workload->id, 3, 1));
  CHECK(house.drawn(2, 0) == "......###..");
  REQUIRE(house.patch_ways(workload->id, 0, 0));
  CHECK(house.drawn(2, 0) == ".........##");
  const auto moved = house.apply(
      PatchWorkload{workload->id, {.core_ids = std::vector<std::string>{"9"}, .cpus = CpuSet{9}, .max = 1, .min = 1}});
  REQUIRE(moved);
  CHECK(house.drawn(2, 0) == "###########");
  CHECK(house.drawn(2, 1) == ".#.........");
  CHECK(house.cpus(2) == "9");
}

TEST_CASE("requests that cannot be met name the field") {
  House house({.classes = 16, .min_ways = 2});
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
  const Observed before = house.hardware.tree;
  for (const Row& row : rows) {
    const auto refused = house.create(row.spec);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == row.code);
    CHECK(refused.error().field == row.field);
  }
  house.hardware.facts.rdt.online.remove(CpuId{5});
  house.start();
  CHECK(house.create(a_spec("4-6").ways(2, 2)).error().message == "CPU 5 is offline");
  CHECK(house.hardware.tree == before);
  CHECK(house.store.commits == 0);
}

TEST_CASE("a uuid is unique") {
  House house;
  REQUIRE(house.create(a_spec("0").ways(1, 1).uuid("pod-a")));
  const auto second = house.create(a_spec("1").ways(1, 1).uuid("pod-a"));
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::UuidTaken);
  CHECK(second.error().subject == "1");
}

TEST_CASE("classes run out with a clear answer and COS1 is given last") {
  House house({.classes = 4});
  CHECK(house.create(a_spec("0").ways(1, 1))->grant.clos == ClosId{2});
  CHECK(house.create(a_spec("1").ways(1, 1))->grant.clos == ClosId{3});
  CHECK(house.create(a_spec("2").ways(1, 1))->grant.clos == ClosId{1});
  CHECK(house.create(a_spec("3").ways(1, 1)).error().code == ErrorCode::NoClass);
}

TEST_CASE("classes and groups of others are left alone and their ways count as taken") {
  House house;
  house.hardware.tree.rdt.classes[ClosId{2}] = house.hardware.new_group();
  house.hardware.tree.rdt.classes[ClosId{2}].ways[CacheId{0}] = WayMask::run(4, 2);
  house.hardware.tree.rdt.classes[ClosId{0}].cpus.remove(CpuId{3});
  house.hardware.tree.rdt.foreign["theirs"] = {.ways = {{CacheId{0}, WayMask::run(3, 1)}}, .cpus = {3}};
  house.start();
  const auto workload = house.create(a_spec("0").ways(2, 2));
  REQUIRE(workload);
  CHECK(workload->grant.clos == ClosId{3});
  CHECK(house.drawn(3, 0) == ".##........");
  CHECK(house.drawn(2, 0) == "....##.....");
  CHECK(house.create(a_spec("3").ways(1, 1)).error().code == ErrorCode::CpuTaken);
}

TEST_CASE("after kill and start all is as before, after a reboot all is made again") {
  House house;
  REQUIRE(house.create(a_spec("4-7").ways(2, 2)));
  REQUIRE(house.create(a_spec("8").ways(3, 1)));
  const Observed before = house.hardware.tree;
  const uint64_t writes = house.hardware.writes;
  house.start();
  CHECK(house.hardware.tree == before);
  CHECK(house.hardware.writes == writes);
  house.hardware.reboot("boot-2");
  house.start();
  CHECK(house.hardware.tree == before);
  CHECK(house.store.records.baselines.boot_id == "boot-2");
  REQUIRE(house.remove(WorkloadId{1}));
  REQUIRE(house.remove(WorkloadId{2}));
  const FakeHardware fresh({});
  CHECK(house.hardware.tree == fresh.tree);
}

TEST_CASE("every hardware write failing once leaves everything as it was") {
  uint64_t failures = 0;
  for (uint64_t nth = 1;; ++nth) {
    House house({}, true);
    REQUIRE(house.create(a_spec("0").ways(3, 1)));
    const Observed before = house.hardware.tree;
    const store::Records stored = house.store.records;
    house.hardware.fail_at_write = house.hardware.writes + nth;
    const auto second = house.create(a_spec("1,8").ways(3, 1));
    if (second) break;
    ++failures;
    CHECK(second.error().code == ErrorCode::Hardware);
    CHECK(house.hardware.tree == before);
    CHECK(house.store.records.workloads == stored.workloads);
    CHECK(house.writer->state().health.hardware_problem.empty());
    CHECK(house.create(a_spec("1,8").ways(3, 1)));
  }
  CHECK(failures == 7);  // a group, three masks (COS2 gives way), the OS on cache 1, two CPUs
}

TEST_CASE("what hardware that stays broken was left with is mended once it works again") {
  for (uint64_t nth = 2; nth <= 6; ++nth) {
    CAPTURE(nth);
    House house;
    const Observed before = house.hardware.tree;
    house.hardware.broken_from_write = nth;
    CHECK(house.create(a_spec("4-7").ways(2, 2)).error().code == ErrorCode::Hardware);
    CHECK(house.hardware.tree != before);
    house.writer->repair();
    CHECK_FALSE(house.writer->state().health.hardware_problem.empty());
    house.hardware.broken_from_write.reset();
    house.writer->repair();
    CHECK(house.hardware.tree == before);
    CHECK(house.writer->state().health.hardware_problem.empty());
  }
}

TEST_CASE("a commit that is not done leaves hardware and answers as before") {
  House house;
  REQUIRE(house.create(a_spec("0-1").ways(2, 2)));
  const Observed before = house.hardware.tree;
  house.store.next_outcomes = {store::Committed::Done, store::Committed::NotDone};  // the claim, then the change
  const auto second = house.create(a_spec("2").ways(2, 2));
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::Store);
  CHECK(house.hardware.tree == before);
  CHECK(house.writer->state().workloads.size() == 1);
  CHECK(house.create(a_spec("2").ways(2, 2))->id == WorkloadId{2});
}

TEST_CASE("a delete that cannot be committed leaves the workload whole") {
  House house;
  const auto workload = house.create(a_spec("0-1").ways(2, 2));
  const Observed before = house.hardware.tree;
  house.store.next_outcomes = {store::Committed::NotDone};
  CHECK_FALSE(house.remove(workload->id));
  CHECK(house.hardware.tree == before);
  CHECK(house.writer->state().workloads.at(workload->id) == *workload);
}

TEST_CASE("an unknown commit is settled by what the reopened store holds") {
  for (const bool stored : {false, true}) {
    CAPTURE(stored);
    House house;
    const auto first = house.create(a_spec("0").ways(2, 2));
    const Observed before = house.hardware.tree;
    house.store.unknown_is_stored = stored;
    house.store.next_outcomes = {store::Committed::Unknown};
    const auto removed = house.remove(first->id);
    CHECK(removed.has_value() == stored);
    CHECK(house.writer->state().workloads.empty() == stored);
    CHECK((house.hardware.tree == before) == !stored);
    CHECK(house.writer->state().revision == house.store.records.revision);
  }
}

TEST_CASE("while the store cannot be reopened no change is accepted, then the truth is taken up") {
  for (const bool stored : {false, true}) {
    CAPTURE(stored);
    House house;
    const auto first = house.create(a_spec("0").ways(2, 2));
    const Observed before = house.hardware.tree;
    house.store.unknown_is_stored = stored;
    house.store.reopens = false;
    house.store.next_outcomes = {store::Committed::Unknown};
    CHECK(house.remove(first->id).error().code == ErrorCode::Frozen);
    CHECK(house.writer->state().health.writes_frozen);
    CHECK(house.writer->state().workloads.size() == 1);
    CHECK(house.hardware.tree == before);
    CHECK(house.create(a_spec("1").ways(1, 1)).error().code == ErrorCode::Frozen);
    house.store.reopens = true;
    house.writer->repair();
    CHECK_FALSE(house.writer->state().health.writes_frozen);
    CHECK(house.writer->state().workloads.empty() == stored);
    CHECK(house.create(a_spec("1").ways(1, 1)));
    CHECK(house.drawn(2, 0) == (stored ? ".#........." : ".##........"));
  }
}

TEST_CASE("a claim whose outcome is unknown takes the whole batch back") {
  House house;
  const Observed before = house.hardware.tree;
  house.store.reopens = false;
  house.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
  const std::vector<Command> commands{CreateWorkload{a_spec("0").ways(1, 1)}, CreateWorkload{a_spec("1").ways(1, 1)}};
  for (const auto& outcome : house.writer->apply(commands)) CHECK(outcome.error().code == ErrorCode::Frozen);
  CHECK(house.hardware.tree == before);
  house.store.reopens = true;
  house.writer->repair();
  CHECK(house.writer->state().workloads.empty());
  CHECK(house.create(a_spec("0").ways(1, 1))->id == WorkloadId{1});
}

TEST_CASE("commands that wait together share one commit") {
  House house;
  std::vector<Command> commands;
  for (unsigned cpu = 0; cpu < 4; ++cpu) commands.emplace_back(CreateWorkload{a_spec(std::to_string(cpu)).ways(1, 1)});
  for (const auto& outcome : house.writer->apply(commands)) REQUIRE(outcome);
  commands.clear();
  for (unsigned id = 1; id <= 4; ++id) commands.emplace_back(DeleteWorkload{WorkloadId{id}});
  const uint64_t commits = house.store.commits;
  for (const auto& outcome : house.writer->apply(commands)) REQUIRE(outcome);
  CHECK(house.store.commits == commits + 1);
}

TEST_CASE("drift is put back and counted") {
  House house;
  REQUIRE(house.create(a_spec("4-7").ways(2, 2)));
  const Observed before = house.hardware.tree;
  house.hardware.tree.rdt.classes[ClosId{2}].ways[CacheId{0}] = WayMask::all(11);
  house.hardware.tree.rdt.classes[ClosId{2}].cpus.remove(CpuId{4});
  house.hardware.tree.rdt.classes[ClosId{0}].cpus.add(CpuId{4});
  house.writer->repair();
  CHECK(house.hardware.tree == before);
  CHECK(house.writer->state().health.drift_repairs == 2);
}

TEST_CASE("what others change where no workload is stays theirs") {
  House house;
  const auto workload = house.create(a_spec("4").ways(2, 2));
  REQUIRE(house.remove(workload->id));
  house.hardware.tree.rdt.classes[ClosId{2}] = house.hardware.new_group();
  house.hardware.tree.rdt.classes[ClosId{2}].ways[CacheId{0}] = WayMask::run(4, 2);
  const Observed theirs = house.hardware.tree;
  house.writer->repair();
  CHECK(house.hardware.tree == theirs);
  const auto next = house.create(a_spec("4").ways(2, 2));
  REQUIRE(next);
  CHECK(next->grant.clos == ClosId{3});
  CHECK(house.drawn(2, 0) == "....##.....");
  CHECK(house.drawn(3, 0) == "..##.......");
}

TEST_CASE("an unplugged CPU is left out and joins its class when it comes back") {
  House house;
  REQUIRE(house.create(a_spec("4-5").ways(2, 2)));
  const CpuSet online = house.hardware.facts.rdt.online;
  house.hardware.facts.rdt.online.remove(CpuId{5});
  house.hardware.tree.rdt.classes[ClosId{2}].cpus.remove(CpuId{5});
  house.writer->repair();
  CHECK(house.cpus(2) == "4");
  house.hardware.facts.rdt.online = online;
  house.hardware.tree.rdt.classes[ClosId{0}].cpus.add(CpuId{5});
  house.writer->repair();
  CHECK(house.cpus(2) == "4-5");
}

TEST_CASE("a node without L3 CAT refuses cache and says what is missing") {
  House house;
  house.hardware.facts.rdt.cat.reset();
  house.hardware.facts.rdt.missing = {"L3 CAT: the CPU has none"};
  house.hardware.tree = {};
  house.start();
  const auto refused = house.create(a_spec("0").ways(1, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK(refused.error().message == "cache ways cannot be granted here: L3 CAT: the CPU has none");
}

TEST_CASE("a creation asked for again under its key is one workload and one commit") {
  House house;
  const CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}};
  const auto first = house.apply(create);
  REQUIRE(first);
  CHECK(house.store.records.keys.size() == 1);
  const uint64_t commits = house.store.commits;
  CHECK(house.apply(create) == first);
  house.start();
  CHECK(house.apply(create) == first);
  CHECK(house.store.commits == commits);
  CHECK(house.apply(CreateWorkload{.spec = a_spec("5").ways(1, 1), .key = IdempotencyKey{"k", "g"}}).error().code ==
        ErrorCode::KeyReused);
  REQUIRE(house.remove(first->id));
  CHECK(house.apply(create).error().code == ErrorCode::Conflict);
}

TEST_CASE("whether a key was used can be asked without using it") {
  House house;
  CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}, .only_asks = true};
  CHECK(house.apply(create).error().code == ErrorCode::NotFound);
  CHECK(house.store.records.keys.empty());
  create.only_asks = false;
  const auto created = house.apply(create);
  REQUIRE(created);
  create.only_asks = true;
  CHECK(house.apply(create)->id == created->id);
  create.key->hash_of = "g";
  CHECK(house.apply(create).error().code == ErrorCode::KeyReused);
}

TEST_CASE("a key is stored with its workload or not at all") {
  for (const bool is_stored : {false, true}) {
    House house;
    const CreateWorkload create{.spec = a_spec("4").ways(2, 2), .key = IdempotencyKey{"k", "f"}};
    // The claim, then the workload.
    house.store.next_outcomes = {store::Committed::Done, store::Committed::Unknown};
    house.store.unknown_is_stored = is_stored;
    house.store.reopens = false;
    REQUIRE(house.apply(create).error().code == ErrorCode::Frozen);
    house.store.reopens = true;
    const auto again = house.apply(create);
    REQUIRE(again);
    CHECK(again->id == WorkloadId{1});
    CHECK(house.store.records.workloads.size() == 1);
    CHECK(house.store.records.keys.size() == 1);
  }
}

TEST_CASE("of two patches in one batch that know the same revision one is stale") {
  House house;
  const auto workload = house.create(a_spec("4").ways(2, 2));
  REQUIRE(workload);
  const auto patch = [&](uint32_t ways) {
    return PatchWorkload{
        .id = workload->id, .patch = {.max = ways, .min = ways}, .if_revision = {{workload->revision}}};
  };
  const std::vector<Command> commands{patch(2), patch(3), patch(1), DeleteWorkload{workload->id, {{7}}}};
  const auto outcomes = house.writer->apply(commands);
  CHECK(outcomes[0]);  // changes nothing, so the revision stays
  REQUIRE(outcomes[1]);
  CHECK(outcomes[1]->revision == workload->revision + 1);
  CHECK(outcomes[2].error().code == ErrorCode::Stale);
  CHECK(outcomes[3].error().code == ErrorCode::Stale);
  CHECK(house.store.records.workloads.front().revision == workload->revision + 1);
}

TEST_CASE("the revision of a workload grows when it gives way to a newcomer") {
  House house({}, true);
  const auto first = house.create(a_spec("4").ways(3, 1));
  const auto other = house.create(a_spec("12").ways(1, 1));
  REQUIRE((first && other));
  REQUIRE(house.create(a_spec("5").ways(3, 1)));
  CHECK(house.writer->state().workloads.at(first->id).revision > first->revision);
  CHECK(house.writer->state().workloads.at(other->id).revision == other->revision);
}
