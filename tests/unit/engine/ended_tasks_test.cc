#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/transaction/ended.h"
#include "tests/unit/engine/fixtures.h"

namespace {

std::atomic<size_t> allocations{0};

}  // namespace

// Of this whole program, so that work can be counted where a clock would tell about the machine. Not inlined: GCC 12
// would see free() take what new gave.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace nrd::ended_tasks_test {
namespace {

constexpr Time kNow{std::chrono::milliseconds(5)};

Workload for_a_task(uint64_t id, Pool pool, WayMask ways, const std::string& boot_id = "the boot before") {
  const auto process = static_cast<pid_t>(100 + id);
  Workload workload{.id = WorkloadId{id}, .spec = {}, .grant = {}, .created = {}, .updated = {}};
  workload.spec.tasks = {{.id = process, .process = process, .start = 7, .boot_id = boot_id}};
  workload.spec.cache = pool == Pool::Shared ? CacheRequest{} : CacheRequest{.max = 3, .min = 1};
  workload.grant.pool = pool;
  workload.grant.clos = pool == Pool::Shared ? ClosId{2} : ClosId{static_cast<uint32_t>(id + 2)};
  workload.grant.ways = {{CacheId{3, 0}, ways}};
  return workload;
}

NodeState a_node_with(std::vector<Workload> workloads) {
  nrd::testing::TransactionFixture fixture;
  fixture.start();
  NodeState state = fixture.state();
  for (Workload& workload : workloads) state.workloads.put(std::move(workload));
  return state;
}

size_t work_of_ending(size_t count) {
  std::vector<Workload> workloads;
  for (uint64_t id = 1; id <= count; ++id) workloads.push_back(for_a_task(id, Pool::Shared, WayMask(0x600)));
  const NodeState state = a_node_with(std::move(workloads));
  const size_t before = allocations;
  const EndedTasks exited = without_ended_tasks(state, kNow);
  const size_t work = allocations - before;
  CHECK(exited.of.size() == count);
  CHECK(exited.workloads.empty());
  return work;
}

}  // namespace

TEST_CASE("cleanup of exited tasks scales linearly with the workloads") {
  const size_t hundred = work_of_ending(100);
  const size_t thousand = work_of_ending(1000);
  CHECK(hundred > 100);
  CHECK(thousand < 15 * hundred);
}

TEST_CASE("best effort grows once, after all exited tasks are removed") {
  NodeState state = a_node_with({});
  const WayMask pool = main_layout(state)->besteffort;
  REQUIRE(pool.count() >= 3);
  const unsigned end = pool.end();
  for (uint64_t id = 1; id <= 3; ++id) {
    const auto at = static_cast<unsigned>(id);
    const std::string boot = id == 2 ? state.facts.boot_id : "the boot before";
    state.workloads.put(for_a_task(id, Pool::BestEffort, WayMask::run(end - at, 1), boot));
  }
  const EndedTasks exited = without_ended_tasks(state, kNow);
  REQUIRE(exited.workloads.size() == 1);
  CHECK(exited.workloads.at(WorkloadId{2}).grant.ways.at(CacheId{3, 0}) == WayMask::run(end - 3, 3));
}

TEST_CASE("a workload whose tasks exited keeps only the caches of its CPUs") {
  NodeState state = a_node_with({});
  const WayMask ways = main_layout(state)->besteffort.longest_run();
  Workload workload = for_a_task(1, Pool::BestEffort, ways);
  workload.spec.core_ids = {"0"};
  workload.spec.cpus = CpuSet{0};
  workload.grant.ways[CacheId{3, 1}] = ways;
  state.workloads.put(workload);
  const EndedTasks exited = without_ended_tasks(state, kNow);
  const Workload& left = exited.workloads.at(workload.id);
  CHECK(left.spec.tasks.empty());
  CHECK(left.updated == kNow);
  CHECK(left.grant.ways == std::map<CacheId, WayMask>{{CacheId{3, 0}, ways}});
}

TEST_CASE("a step of the wall clock right after a creation does not end the workload") {
  const ArrivalDeadlines::Steady begun{std::chrono::hours(1)};
  ArrivalDeadlines deadlines;
  CHECK(deadlines.passed({}, kNow, begun).empty());
  Workload workload{.id = WorkloadId{1}, .spec = {}, .grant = {}, .created = kNow, .updated = kNow};
  workload.spec.cgroup_owner = CgroupOwner{.within_seconds = 60};
  Workloads one;
  one.put(workload);
  const Time stepped = kNow + std::chrono::years(56);
  CHECK(deadlines.passed(one, stepped, begun + std::chrono::seconds(1)).empty());
  CHECK(deadlines.passed(one, stepped, begun + std::chrono::seconds(61)).empty());
  CHECK(deadlines.passed(one, stepped, begun + std::chrono::seconds(62)).size() == 1);
}

}  // namespace nrd::ended_tasks_test
