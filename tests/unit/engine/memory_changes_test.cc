// Memory of running units and cgroups moves in operations, not on the engine thread.
#include "engine/transaction/memory_changes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/model/cpu_memory.h"
#include "tests/unit/engine/cpu_pool_fixture.h"
#include "tests/unit/no_threads.h"

namespace nrd::memory_changes_test {

using namespace nrd::testing;

namespace {

using cpuset::Target;
using State = MemoryMove::State;

const CpuSet kBoth{0, 1};

// Two NUMA nodes with memory, and two targets with memory of both.
struct MoveFixture : CpuPoolFixture {
  MoveFixture() {
    hardware.facts.cpuset.memory_nodes = kBoth;
    pid_t process = 10;
    for (const Target& target : {kUnit, kCgroup}) {
      add_group(target, {a_process(++process)});
      hardware.tree.cpuset.memory[target] = {.nodes = kBoth, .is_used = true, .bytes = 1 << 20};
    }
    start();
  }
  // The other thread uses the hardware.
  ~MoveFixture() {
    hardware.open_memory_gate();
    const auto is_open = [](const auto& entry) { return entry.second.is_open(); };
    while (std::ranges::any_of(state().memory_moves, is_open)) finish_memory_change();
    transaction->stop_memory_changes(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  }
  Result<Done> request(Command command) {
    const std::vector<Command> commands{std::move(command)};
    return transaction->apply(commands).front();
  }
  const cpuset::Memory& memory(const Target& target = kUnit) const { return hardware.tree.cpuset.memory.at(target); }
  const MemoryMove& move(const Result<Done>& made) const { return state().memory_moves.at(made->operation.value()); }
  bool has_baselines() { return !store.baselines().memory.empty(); }
};

Spec asking(const char* cpus, CpuRequest::Memory memory = CpuRequest::Memory::Near) {
  const bool migrate = memory == CpuRequest::Memory::Near;
  return for_unit(kUnit.name, {.pool = "fast", .cpus = *CpuSet::parse(cpus), .memory = memory, .migrate = migrate});
}

Spec of_cgroup(Spec spec) {
  spec.unit.clear();
  spec.cgroup = kCgroup.name;
  return spec;
}

SpecPatch patch_of(const char* members_of_cpu) { return {.cpu = members<CpuRequest>(members_of_cpu)}; }
SpecPatch near() { return patch_of(R"({"memory": "near", "migrate": true})"); }

}  // namespace

TEST_CASE("a workload is bound to the nodes of its CPUs once the memory of its running unit has moved") {
  MoveFixture fixture;
  const Observed before = fixture.hardware.tree;
  fixture.hardware.is_memory_gate_closed = true;
  const auto made = fixture.request(CreateWorkload{asking("2-3")});
  REQUIRE(made);
  REQUIRE(made->operation);
  CHECK(made->is_new);
  CHECK(made->workload.spec.cpu->memory == CpuRequest::Memory::Any);
  CHECK(is_applied(fixture.state(), made->workload));
  CHECK(fixture.move(made).state == State::Moving);
  CHECK(fixture.move(made).from == kBoth);
  CHECK(fixture.move(made).to == CpuSet{0});
  CHECK(fixture.has_baselines());

  fixture.hardware.open_memory_gate();
  fixture.finish_memory_change();
  CHECK(fixture.move(made).state == State::Succeeded);
  const Workload& bound = fixture.state().workloads.at(made->workload.id);
  CHECK(bound.spec.cpu->memory == CpuRequest::Memory::Near);
  CHECK(is_applied(fixture.state(), bound));
  CHECK(fixture.memory().nodes == CpuSet{0});
  fixture.start();  // what is stored
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(made->workload.id)));

  REQUIRE(fixture.remove(made->workload.id));
  fixture.finish_memory_change();
  CHECK(fixture.hardware.tree == before);
  CHECK_FALSE(fixture.has_baselines());
}

TEST_CASE("a change of CPUs to another node holds once memory has moved there") {
  MoveFixture fixture;
  const auto made = fixture.request(CreateWorkload{asking("2-3")});
  fixture.finish_memory_change();
  fixture.hardware.is_memory_gate_closed = true;
  const auto patched = fixture.request(PatchWorkload{made->workload.id, patch_of(R"({"cpus": "12"})")});
  REQUIRE(patched->operation);
  CHECK(cpus_of(patched->workload) == CpuSet{2, 3});
  CHECK(error_of(fixture.request(PatchWorkload{made->workload.id, patch_of(R"({"cpus": "13"})")})).code ==
        ErrorCode::Conflict);
  fixture.hardware.open_memory_gate();
  fixture.finish_memory_change();
  const Workload& workload = fixture.state().workloads.at(made->workload.id);
  CHECK(cpus_of(workload) == CpuSet{12});
  CHECK(is_applied(fixture.state(), workload));
  CHECK(fixture.memory().nodes == CpuSet{1});
}

TEST_CASE("memory that does not move leaves the workload as it was") {
  for (const bool is_new : {true, false}) {
    CAPTURE(is_new);
    MoveFixture fixture;
    fixture.hardware.is_memory_stuck = true;
    const auto any = is_new ? Result<Workload>(Workload()) : fixture.create(asking("2-3", CpuRequest::Memory::Any));
    const auto made =
        is_new ? fixture.request(CreateWorkload{asking("2-3")}) : fixture.request(PatchWorkload{any->id, near()});
    REQUIRE(made);
    fixture.finish_memory_change();
    CHECK(fixture.move(made).state == State::Failed);
    CHECK(fixture.move(made).message == "memory did not move");
    CHECK(fixture.state().workloads.at(made->workload.id) == made->workload);
    fixture.finish_memory_change();  // its release, which fails as well
    fixture.hardware.is_memory_stuck = false;
    fixture.transaction->repair();
    fixture.finish_memory_change();
    CHECK(fixture.memory().nodes == kBoth);
    CHECK_FALSE(fixture.has_baselines());
  }
}

TEST_CASE("without room for another thread memory stays where it is, and moves later") {
  MoveFixture fixture;
  std::optional<NoThreads> none(std::in_place);
  const auto made = fixture.request(CreateWorkload{asking("2-3")});
  fixture.finish_memory_change();
  CHECK(fixture.move(made).state == State::Failed);
  CHECK(fixture.move(made).message == "cannot start a thread that moves memory; try again");
  CHECK(fixture.memory().nodes == kBoth);
  fixture.finish_memory_change();  // its release, which fails as well
  none.reset();
  fixture.transaction->repair();
  fixture.finish_memory_change();
  CHECK_FALSE(fixture.has_baselines());
  REQUIRE(fixture.request(PatchWorkload{made->workload.id, near()})->operation);
  fixture.finish_memory_change();
  CHECK(fixture.memory().nodes == CpuSet{0});
}

TEST_CASE("memory that has moved for a change that cannot be applied goes back") {
  MoveFixture fixture;
  const auto made = fixture.request(CreateWorkload{asking("2-3")});
  fixture.finish_memory_change();
  fixture.hardware.is_memory_gate_closed = true;
  const auto patched = fixture.request(PatchWorkload{made->workload.id, patch_of(R"({"cpus": "12"})")});
  REQUIRE(fixture.create(for_cpus({.pool = "fast", .cpus = CpuSet{12}}, {a_process(20)})));
  fixture.hardware.open_memory_gate();
  fixture.finish_memory_change();
  CHECK(fixture.move(patched).state == State::Failed);
  fixture.finish_memory_change();
  CHECK(fixture.memory().nodes == CpuSet{0});
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(made->workload.id)));
}

TEST_CASE("after a death before the change is stored, the next start releases the memory that has moved") {
  MoveFixture fixture;
  const auto made = fixture.request(CreateWorkload{asking("2-3")});
  fixture.memory_changed.wait(false);
  fixture.memory_changed = false;
  CHECK(fixture.memory().nodes == CpuSet{0});
  fixture.start();
  CHECK(fixture.state().workloads.at(made->workload.id) == made->workload);
  CHECK(fixture.state().memory_moves.empty());
  fixture.finish_memory_change();
  CHECK(fixture.memory().nodes == kBoth);
  CHECK_FALSE(fixture.has_baselines());
  // No operation has the id of one before.
  CHECK(fixture.request(PatchWorkload{made->workload.id, near()})->operation > made->operation);
}

TEST_CASE("a stop releases the memory of all workloads that are gone") {
  MoveFixture fixture;
  const Observed before = fixture.hardware.tree;
  std::vector<Command> deletions;
  for (const Spec& spec : {asking("2-3"), of_cgroup(asking("4-5"))}) {
    const auto made = fixture.request(CreateWorkload{spec});
    fixture.finish_memory_change();
    deletions.emplace_back(DeleteWorkload{made->workload.id});
  }
  for (const Result<Done>& deleted : fixture.transaction->apply(deletions)) REQUIRE(deleted);
  fixture.transaction->stop_memory_changes(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  CHECK(fixture.hardware.tree == before);
  CHECK_FALSE(fixture.has_baselines());
}

TEST_CASE("operations run one at a time, and no cpuset is written meanwhile") {
  MoveFixture fixture;
  fixture.hardware.is_memory_gate_closed = true;
  const auto first = fixture.request(CreateWorkload{asking("2-3")});
  CHECK(error_of(fixture.request(CreateWorkload{of_cgroup(asking("4-5"))})).code == ErrorCode::Busy);
  CHECK(fixture.create(for_cpus({.pool = "fast", .cpus = CpuSet{6}}, {a_process(20)})));  // it writes no cpuset
  fixture.hardware.open_memory_gate();
  fixture.finish_memory_change();
  CHECK(fixture.move(first).state == State::Succeeded);
  CHECK(fixture.create(of_cgroup(asking("4-5", CpuRequest::Memory::Any))));
}

TEST_CASE("a CPU that comes online while memory moves gets its class at once, and its cpuset later") {
  MoveFixture fixture;
  Spec spec = of_cgroup(asking("4-5", CpuRequest::Memory::Any));
  spec.cache = CacheRequest{.max = 2, .min = 2};
  const Workload other = value_of(fixture.create(spec));
  const CpuSet online = fixture.hardware.facts.rdt.online;
  fixture.hardware.facts.rdt.online.remove(CpuId{5});
  auto& classes = fixture.hardware.tree.rdt.classes;
  classes.at(other.grant.clos).cpus.remove(CpuId{5});
  CHECK(fixture.transaction->serve_hotplug(CpuSet{5}));
  fixture.hardware.is_memory_gate_closed = true;
  const auto moving = fixture.request(CreateWorkload{asking("2-3")});
  REQUIRE(moving->operation);
  const auto limit = [&fixture] { return fixture.hardware.tree.cpuset.targets.at(kCgroup).cpus; };

  fixture.hardware.facts.rdt.online = online;
  classes.at(kRootClass).cpus.add(CpuId{5});
  CHECK_FALSE(fixture.transaction->serve_hotplug(CpuSet{5}));
  CHECK(fixture.cpus(other.grant.clos.value) == "4-5");
  CHECK(limit() == CpuSet{4});
  CHECK(problem_of(fixture.state()).find("moves the memory of feed.service") != std::string::npos);
  // A cpuset that waits fails no request about others.
  const CreateWorkload unrelated{for_cpus({.pool = "fast", .cpus = CpuSet{6}}, {a_process(20)})};
  CHECK(fixture.transaction->dry_run(unrelated));
  CHECK(fixture.request(unrelated));
  CHECK(error_of(fixture.remove(other.id)).code == ErrorCode::Busy);
  CHECK(limit() == CpuSet{4});

  fixture.hardware.open_memory_gate();
  fixture.finish_memory_change();
  CHECK(limit() == CpuSet{4, 5});
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(other.id)));
  CHECK(is_ok(fixture.state()));
}

TEST_CASE("new processes get their class while memory moves, and no cpuset is written") {
  MoveFixture fixture;
  Spec spec = of_cgroup(asking("4-5", CpuRequest::Memory::Any));
  spec.cache = CacheRequest{.max = 2, .min = 2};
  const ClosId clos = value_of(fixture.create(spec)).grant.clos;
  const size_t before = fixture.hardware.tasks_in(clos);
  fixture.hardware.is_memory_gate_closed = true;
  REQUIRE(fixture.request(CreateWorkload{asking("2-3")})->operation);
  fixture.hardware.add_task(a_process(40), CpuSet{4});
  fixture.hardware.tree.cpuset.groups.at(kCgroup).processes.insert(a_process(40));
  fixture.hardware.tree.cpuset.targets.at(kCgroup).cpus = CpuSet{4};  // by other software
  fixture.transaction->reap_tasks();
  CHECK(fixture.hardware.tasks_in(clos) == before + 1);
  CHECK(fixture.hardware.tree.cpuset.targets.at(kCgroup).cpus == CpuSet{4});
}

TEST_CASE("an operation that waits is cancelled with its workload, and one that moves memory ends without it") {
  MoveFixture fixture;
  const auto other = fixture.create(of_cgroup(asking("4-5", CpuRequest::Memory::Any)));
  const auto unit = fixture.create(asking("2-3", CpuRequest::Memory::Any));
  fixture.hardware.is_memory_gate_closed = true;
  const auto moving = fixture.request(PatchWorkload{unit->id, near()});
  const auto waiting = fixture.request(PatchWorkload{other->id, near()});
  REQUIRE(waiting->operation);
  CHECK(fixture.move(waiting).state == State::Waiting);
  // The kernel would let the write wait for the pages.
  CHECK(error_of(fixture.remove(unit->id)).code == ErrorCode::Busy);
  fixture.hardware.tree.cpuset.targets[kCgroup] = {};  // has ended
  fixture.hardware.tree.cpuset.memory.erase(kCgroup);
  fixture.transaction->repair();
  REQUIRE(fixture.remove(other->id));
  CHECK(fixture.move(waiting).state == State::Cancelled);
  fixture.hardware.open_memory_gate();
  fixture.finish_memory_change();
  CHECK(fixture.move(moving).state == State::Succeeded);
}

TEST_CASE("only so many operations that have ended are kept") {
  MoveFixture fixture;
  const auto workload = fixture.create(asking("2-3", CpuRequest::Memory::Any));
  for (size_t i = 0; i < kMostMemoryMoves + 5; ++i) {
    const auto made = fixture.request(PatchWorkload{workload->id, near()});
    REQUIRE(made->operation);
    fixture.finish_memory_change();
    CHECK(fixture.move(made).state == State::Succeeded);
    REQUIRE(fixture.patch(workload->id, patch_of(R"({"memory": "any"})")));
    fixture.finish_memory_change();
  }
  CHECK(fixture.state().memory_moves.size() == kMostMemoryMoves);
}

TEST_CASE("only so many operations wait") {
  MoveFixture fixture;
  std::vector<WorkloadId> workloads;
  for (size_t i = 0; i <= kMostOpenMemoryMoves; ++i) {
    const Target target{.kind = Target::Kind::Cgroup, .name = "/pod" + std::to_string(i), .task = {}};
    cpuset::Observed& observed = fixture.hardware.tree.cpuset;
    observed.targets[target] = {.cpus = fixture.everywhere};
    observed.groups[target] = {.available = fixture.everywhere};
    observed.memory[target] = {.nodes = kBoth, .is_used = true};
    Spec spec = for_cpus({.pool = "common"});
    spec.cgroup = target.name;
    const auto made = value_of(fixture.create(spec));
    workloads.push_back(made.id);
  }
  fixture.hardware.is_memory_gate_closed = true;
  for (const WorkloadId id : workloads) {
    const auto made = fixture.request(PatchWorkload{id, near()});
    CHECK(made.has_value() == (id != workloads.back()));
    if (!made) CHECK(made.error().code == ErrorCode::Busy);
  }
}

TEST_CASE("migrate without memory near the CPUs is refused at its member") {
  MoveFixture fixture;
  Spec spec = asking("2-3");
  spec.cpu->memory = CpuRequest::Memory::Any;
  CHECK(error_of(fixture.create(spec)).field == "/cpu/migrate");
}

}  // namespace nrd::memory_changes_test
