// The rest of the host, kept off the CPUs of pools.
#include "engine/model/confinement.h"

#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::confinement_test {

using namespace nrd::testing;
using cpuset::Masks;
using cpuset::Target;

namespace {

const Target kPartition{Target::Kind::Partition, "nrd.slice", {}};
Target a_slice(const char* name) { return {Target::Kind::Slice, name, {}}; }

// Its pools have CPUs 2-15. machine.slice has never been used.
struct Fixture : CpuPoolFixture {
  Fixture() {
    for (const char* name : {"system.slice", "user.slice", "init.scope"})
      hardware.tree.cpuset.targets[a_slice(name)] = {.cpus = everywhere};
    hardware.tree.cpuset.targets[kPartition] = {.cpus = everywhere, .partition = "member"};
    before = hardware.tree;
  }
  Result<void> reload(Confinement confinement) {
    NodeConfig next = with_pools();
    next.confinement = confinement;
    return transaction->reconfigure(next, ReloadMode::Apply);
  }
  std::string cpus_of(const Target& target) const { return hardware.tree.cpuset.targets.at(target).cpus.to_string(); }
  Observed before;
};

}  // namespace

TEST_CASE("slices lose the CPUs of pools, and get them back when a reload ends it") {
  Fixture fixture;
  REQUIRE(fixture.reload(Confinement::Slices));
  for (const char* name : {"system.slice", "user.slice", "init.scope"}) CHECK(fixture.cpus_of(a_slice(name)) == "0-1");
  CHECK(fixture.store.baselines().cpu_sets.size() == 3);
  // Grants change nothing of it.
  const uint64_t writes = fixture.hardware.writes;
  const auto workload = value_of(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.writes == writes);
  REQUIRE(fixture.reload(Confinement::None));
  CHECK(fixture.hardware.tree == fixture.before);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("a reload that would confine a unit or task with CPUs is refused with its name") {
  struct Row {
    Target target;
    const char* parent;
    const char* by_slices;  // what it names
    const char* by_partition;
  };
  const Target task{.kind = Target::Kind::Task, .name = {}, .task = a_process(10)};
  const Target unit{.kind = Target::Kind::Unit, .name = "feed.service", .task = {}};
  const auto cgroup = [](const char* path) { return Target{.kind = Target::Kind::Cgroup, .name = path, .task = {}}; };
  const std::string refusal = "cpu.confine: outside nrd.slice these would lose their CPUs: ";
  for (const auto& [target, parent, by_slices, by_partition] :
       {Row{unit, "system.slice", "feed.service", "feed.service"},
        Row{unit, "user-1000.slice", "feed.service", "feed.service"}, Row{unit, "far.slice", nullptr, "feed.service"},
        Row{unit, "nrd.slice", nullptr, nullptr}, Row{unit, "nrd-deep.slice", nullptr, nullptr},
        Row{cgroup("/jobs"), "/", nullptr, "/jobs"},
        Row{cgroup("/machine.slice/vm/1"), "/machine.slice/vm", "/machine.slice/vm/1", "/machine.slice/vm/1"},
        Row{cgroup("/nrd.slice/jobs.service/1"), "/nrd.slice/jobs.service", nullptr, nullptr},
        Row{task, "/user.slice/session.scope", "task 10", "task 10"}, Row{task, "/", nullptr, "task 10"},
        Row{task, "/nrd.slice/feed.service", nullptr, nullptr}}) {
    CAPTURE(target.name);
    CAPTURE(parent);
    Fixture fixture;
    fixture.hardware.tree.cpuset.targets[target] = {.cpus = fixture.everywhere};
    fixture.hardware.tree.cpuset.groups[target] = {.available = fixture.everywhere, .parent = parent};
    Spec spec = for_cpus({.pool = "fast", .count = 2});
    if (target.kind == Target::Kind::Unit) spec.unit = target.name;
    if (target.kind == Target::Kind::Cgroup) spec.cgroup = target.name;
    if (target.kind == Target::Kind::Task) spec.tasks = {target.task};
    REQUIRE(fixture.create(spec));
    const Observed before = fixture.hardware.tree;
    for (const auto& [confinement, name] :
         {std::pair{Confinement::Slices, by_slices}, {Confinement::Partition, by_partition}}) {
      const Result<void> reloaded = fixture.reload(confinement);
      REQUIRE(reloaded.has_value() == (name == nullptr));
      if (!name) continue;
      CHECK(reloaded.error().code == ErrorCode::Conflict);
      CHECK(reloaded.error().message == refusal + name + " of workload 1");
      if (by_slices) CHECK(fixture.hardware.tree == before);
    }
  }
}

TEST_CASE("slices do not get granted CPUs that a start finds in no pool") {
  Fixture fixture;
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  fixture.config.confinement = Confinement::Slices;
  fixture.config.cpu_pools = {{.name = "fast", .cpus = *CpuSet::parse("10-15")}};
  fixture.start();
  CHECK(fixture.cpus_of(a_slice("system.slice")) == "0-1,6-9");
}

TEST_CASE("a partition has the online CPUs of all pools, and a reload changes one kind into the other") {
  Fixture fixture;
  fixture.hardware.facts.rdt.online.remove(CpuId{15});
  REQUIRE(fixture.reload(Confinement::Partition));
  CHECK(fixture.hardware.tree.cpuset.targets.at(kPartition) ==
        Masks{.cpus = *CpuSet::parse("2-14"), .partition = "root"});
  fixture.hardware.facts.rdt.online.add(CpuId{15});
  fixture.transaction->repair();
  CHECK(fixture.cpus_of(kPartition) == "2-15");
  CHECK(fixture.cpus_of(a_slice("user.slice")) == "0-1");
  REQUIRE(fixture.reload(Confinement::Slices));
  CHECK(fixture.hardware.tree.cpuset.targets.at(kPartition) ==
        Masks{.cpus = fixture.everywhere, .partition = "member"});
  CHECK(fixture.cpus_of(a_slice("user.slice")) == "0-1");
}

TEST_CASE("an invalid partition is reported with its cause and repaired, and fails no request meanwhile") {
  Fixture fixture;
  REQUIRE(fixture.reload(Confinement::Partition));
  Masks& partition = fixture.hardware.tree.cpuset.targets.at(kPartition);
  partition.partition = "root invalid (Cpu list in cpuset.cpus not exclusive)";
  CHECK(confinement_problem(fixture.state()).empty());
  CHECK(fixture.transaction->note_partition());
  CHECK(confinement_problem(fixture.state()).find("(root invalid (Cpu list in cpuset.cpus not exclusive))") !=
        std::string::npos);
  CHECK_FALSE(fixture.transaction->note_partition());
  fixture.hardware.broken_from_write = fixture.hardware.writes + 1;
  fixture.transaction->repair();
  CHECK(problem_of(fixture.state()).find("target was not limited") != std::string::npos);
  CHECK(confinement_problem(fixture.state()).find("nrd.slice runs on CPU 2-15 (root invalid (Cpu list") !=
        std::string::npos);
  CHECK(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  fixture.hardware.broken_from_write.reset();
  fixture.transaction->repair();
  CHECK(partition.partition == "root");
  CHECK(problem_of(fixture.state()).empty());
}

TEST_CASE("a failed write of a reload leaves the rest of the host as it was") {
  for (const Confinement confinement : {Confinement::Slices, Confinement::Partition}) {
    for (uint64_t write = 1; write <= (confinement == Confinement::Slices ? 3U : 4U); ++write) {
      CAPTURE(write);
      Fixture fixture;
      fixture.hardware.fail_at_write = fixture.hardware.writes + write;
      CHECK(error_of(fixture.reload(confinement)).code == ErrorCode::Hardware);
      CHECK(fixture.hardware.tree == fixture.before);
      CHECK(fixture.state().config->confinement == Confinement::None);
    }
  }
}

TEST_CASE("a node that cannot confine refuses it with the reason") {
  Fixture fixture;
  const auto refusal = [&](Confinement confinement) {
    fixture.transaction->repair();  // reads what the node can do
    const Result<void> reloaded = fixture.reload(confinement);
    if (reloaded) return std::string();
    CHECK(reloaded.error().code == ErrorCode::BadRequest);
    CHECK(fixture.hardware.tree == fixture.before);
    return reloaded.error().message;
  };
  cpuset::Node& node = fixture.hardware.facts.cpuset;
  node.no_slices = "systemd is not the init of this host";
  CHECK(refusal(Confinement::Slices) == "cpu.confine: systemd is not the init of this host");
  node.no_slices.clear();
  fixture.hardware.pinned = {{"web.service", {0, 2}}, {"feed.service", {4, 5}}, {"ids.service", {15}}};
  CHECK(refusal(Confinement::Partition) ==
        "cpu.confine: could not start any more: feed.service (CPUAffinity=4-5), ids.service (CPUAffinity=15)");
  fixture.hardware.pinned.clear();
  fixture.hardware.facts.rdt.isolated = {14, 15};
  CHECK(refusal(Confinement::Partition) == "cpu.confine: CPU 14-15 is isolated by isolcpus=");
  CHECK(refusal(Confinement::Slices).empty());
}

TEST_CASE("a start is refused for a service without other CPUs only if there is nothing to restore") {
  Fixture fixture;
  const auto starts = [&](Confinement confinement) {
    fixture.config.confinement = confinement;
    fixture.transaction =
        std::make_unique<Transaction>(fixture.hardware, fixture.store, fixture.clock, fixture.config, [] {});
    return fixture.transaction->recover().has_value();
  };
  fixture.hardware.pinned = {{"feed.service", {4, 5}}};
  CHECK_FALSE(starts(Confinement::Slices));
  fixture.hardware.pinned.clear();
  REQUIRE(starts(Confinement::Slices));
  fixture.hardware.pinned = {{"feed.service", {4, 5}}};
  CHECK(starts(Confinement::Slices));
  REQUIRE(starts(Confinement::None));
  CHECK_FALSE(starts(Confinement::Slices));
  REQUIRE(starts(Confinement::None));
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .count = 2})));
  CHECK(starts(Confinement::Slices));
}

TEST_CASE("where a cpuset overwrites what isolcpus= has set, the rest of the host gets no isolated CPU") {
  Fixture fixture;
  fixture.hardware.facts.rdt.isolated = {1, 15};
  fixture.hardware.facts.cpuset.overwrites_affinity = true;
  REQUIRE(fixture.reload(Confinement::Slices));
  CHECK(fixture.cpus_of(a_slice("system.slice")) == "0");
}

TEST_CASE("the rest of the host stays confined while all CPUs of pools are offline") {
  Fixture fixture;
  REQUIRE(fixture.reload(Confinement::Partition));
  const auto claimed = fixture.store.baselines().cpu_sets;
  fixture.hardware.facts.rdt.online = CpuSet{0, 1};
  const uint64_t writes = fixture.hardware.writes;
  fixture.transaction->repair();
  CHECK(fixture.cpus_of(a_slice("system.slice")) == "0-1");
  CHECK(fixture.hardware.writes == writes);
  CHECK(fixture.store.baselines().cpu_sets == claimed);
  fixture.hardware.facts.rdt.online = fixture.everywhere;
  REQUIRE(fixture.reload(Confinement::None));
  CHECK(fixture.hardware.tree == fixture.before);
}

}  // namespace nrd::confinement_test
