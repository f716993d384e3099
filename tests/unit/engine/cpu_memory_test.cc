// Memory near the CPUs of workloads.
#include "engine/model/cpu_memory.h"

#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_memory_test {

using namespace nrd::testing;

namespace {

using cpuset::Memory;
using cpuset::Target;

const CpuSet kBoth{0, 1};

// Two NUMA nodes with memory. feed.service is stopped, /pod has a process.
struct MemoryFixture : CpuPoolFixture {
  MemoryFixture() {
    hardware.facts.cpuset.memory_nodes = kBoth;
    add_group(kUnit);
    hardware.tree.cpuset.memory[kUnit] = {.nodes = kBoth};
    add_group(kCgroup, {a_process(10)});
    hardware.tree.cpuset.memory[kCgroup] = {.nodes = kBoth, .is_used = true, .bytes = (200 << 20) + 1};
    start();
  }
  const Memory& memory() const { return hardware.tree.cpuset.memory.at(kUnit); }
};

Spec near(const char* cpus) {
  return for_unit(kUnit.name, {.pool = "fast", .cpus = *CpuSet::parse(cpus), .memory = CpuRequest::Memory::Near});
}

}  // namespace

TEST_CASE(
    "memory comes from the NUMA nodes of the CPUs, after a restart too, and afterwards from where it came before") {
  for (const auto& [cpus, nodes] : {std::pair{"2-3", CpuSet{0}}, {"12", CpuSet{1}}, {"6,10", kBoth}}) {
    CAPTURE(cpus);
    MemoryFixture fixture;
    fixture.hardware.tree.cpuset.memory[kUnit] = {.nodes = CpuSet{1}, .own = CpuSet{1}};
    const Observed before = fixture.hardware.tree;
    const auto workload = value_of(fixture.create(near(cpus)));
    CHECK(workload.grant.cpu->memory_nodes == nodes);
    CHECK(fixture.memory().nodes == nodes);
    CHECK(is_applied(fixture.state(), workload));
    fixture.start();
    CHECK(fixture.memory().nodes == nodes);
    REQUIRE(fixture.remove(workload.id));
    CHECK(fixture.hardware.tree == before);
    CHECK(fixture.store.baselines().memory.empty());
  }
}

TEST_CASE("memory that cannot be bound is refused at its member, and nothing has changed") {
  MemoryFixture fixture;
  const Observed before = fixture.hardware.tree;
  Spec running = near("2");
  running.unit.clear();
  running.cgroup = kCgroup.name;
  const Error conflict = error_of(fixture.create(running));
  CHECK(conflict.code == ErrorCode::Conflict);
  CHECK(conflict.field == "/cpu/memory");
  CHECK(conflict.message.find("/pod runs and has 201 MiB of memory of node 0-1, not of 0") != std::string::npos);
  Spec task = near("2");
  task.unit.clear();
  task.tasks = {a_process(20)};
  CHECK(error_of(fixture.create(task)).code == ErrorCode::Unsupported);
  fixture.hardware.facts.cpuset.memory_nodes = CpuSet{1};
  fixture.start();
  CHECK(error_of(fixture.create(near("2"))).message.find("no memory") != std::string::npos);
  CHECK(fixture.hardware.tree == before);
}

TEST_CASE("memory of what runs is not moved: a change of its CPUs to other nodes is a conflict") {
  MemoryFixture fixture;
  const auto workload = value_of(fixture.create(near("2-3")));
  fixture.hardware.tree.cpuset.memory[kUnit].is_used = true;
  fixture.transaction->repair();
  const auto patch = [](const char* cpus) {
    return SpecPatch{.cpu = members<CpuRequest>(R"({"cpus": ")" + std::string(cpus) + R"("})")};
  };
  CHECK(fixture.patch(workload.id, patch("4-5")));
  CHECK(error_of(fixture.patch(workload.id, patch("12"))).field == "/cpu/memory");
  CHECK(fixture.memory().nodes == CpuSet{0});
}

TEST_CASE("memory that other software bound elsewhere is reported and stops no other request") {
  MemoryFixture fixture;
  const auto workload = value_of(fixture.create(near("2-3")));
  fixture.hardware.tree.cpuset.memory[kUnit] = {.nodes = CpuSet{1}, .own = CpuSet{1}, .is_used = true};
  fixture.transaction->repair();
  CHECK(fixture.memory().nodes == CpuSet{1});
  CHECK_FALSE(is_applied(fixture.state(), fixture.state().workloads.at(workload.id)));
  CHECK(
      problem_of(fixture.state()).starts_with("feed.service has memory of nodes 1, not only of 0; stop its processes"));
  CHECK(fixture.create(for_cpus({.pool = "fast", .count = 1}, {a_process(20)})));
  // It has ended.
  fixture.hardware.tree.cpuset.memory[kUnit].is_used = false;
  fixture.transaction->repair();
  CHECK(is_ok(fixture.state()));
  CHECK(fixture.memory().nodes == CpuSet{0});
}

TEST_CASE("a failed write leaves the memory of a unit as it was") {
  check_failed_writes<MemoryFixture>(near("2-3"), 2);
}

}  // namespace nrd::cpu_memory_test
