// Dry runs: refused as the request would be, and nothing is written.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::dry_run_test {

using namespace nrd::testing;

namespace {

using cpuset::Target;

const Target kStranger{.kind = Target::Kind::Unit, .name = "far.service", .task = {}};

// feed.service runs, with memory of both NUMA nodes; far.service has CPUs 0 and 1 only.
struct DryRunFixture : CpuPoolFixture {
  DryRunFixture() {
    hardware.facts.cpuset.memory_nodes = CpuSet{0, 1};
    add_group(kUnit, {a_process(10)});
    hardware.tree.cpuset.memory[kUnit] = {.nodes = CpuSet{0, 1}, .is_used = true, .bytes = 5 << 20};
    hardware.tree.cpuset.targets[kStranger] = {.cpus = CpuSet{0, 1}};
    hardware.tree.cpuset.groups[kStranger] = {.available = CpuSet{0, 1}, .parent = "system.slice"};
    start();
  }
  std::vector<std::string> changes_of(const Command& command) {
    const auto planned = value_of(dry_run(command));
    std::vector<std::string> texts;
    for (const KnobChange& change : planned.changes) texts.push_back(text_of(change));
    return texts;
  }
};

bool contains(const std::vector<std::string>& texts, const std::string& wanted) {
  return std::ranges::find(texts, wanted) != texts.end();
}

}  // namespace

TEST_CASE("a dry run observes what it names, is refused as the request is, and writes nothing") {
  DryRunFixture fixture;
  const NodeState before = fixture.state();
  const uint64_t writes = fixture.hardware.writes;
  for (const Spec& refused :
       {for_unit("missing.service"), for_unit("far.service"),
        for_unit("feed.service", {.pool = "fast", .cpus = {2}, .memory = CpuRequest::Memory::Near})}) {
    CAPTURE(refused.unit);
    const auto dry = fixture.dry_run(CreateWorkload{refused});
    const auto real = fixture.create(refused);
    REQUIRE_FALSE(dry);
    REQUIRE_FALSE(real);
    CHECK(dry.error().code == real.error().code);
    CHECK(dry.error().field == real.error().field);
    CHECK(dry.error().message == real.error().message);
  }
  const auto planned = value_of(fixture.dry_run(CreateWorkload{for_unit("feed.service")}));
  CHECK(planned.is_new);
  CHECK(planned.workload.grant.cpu->exclusive.to_string() == "2,4");
  CHECK(fixture.changes_of(CreateWorkload{for_unit("feed.service")}) ==
        std::vector<std::string>{"CPUs of feed.service: 0-15, not 2,4"});
  CHECK(fixture.hardware.writes == writes);
  CHECK(fixture.state().workloads == before.workloads);
  CHECK(fixture.state().next_id == before.next_id);
  CHECK(fixture.store.baselines().cpu_sets.empty());
}

TEST_CASE("a dry run lists what would change for other workloads") {
  DryRunFixture fixture;
  fixture.config.shrink = true;
  fixture.start();
  Spec shared = for_cpus({.pool = "fast", .cpus = {2}}, {a_process(20)});
  shared.cache = CacheRequest{.max = 3, .min = 1};
  REQUIRE(fixture.create(shared));
  const std::string before = fixture.drawn(2, 0);
  Spec next = for_cpus({.pool = "fast", .cpus = {4}}, {a_process(30)});
  next.cache = CacheRequest{.max = 3, .min = 2};
  const std::vector<std::string> changes = fixture.changes_of(CreateWorkload{next});
  CHECK(contains(changes, "CPUs of process 30: 0-15, not 4"));
  REQUIRE(fixture.create(next));
  REQUIRE(fixture.drawn(2, 0) != before);
  CHECK(
      std::ranges::any_of(changes, [](const std::string& text) { return text.starts_with("COS2 ways on cache 0: "); }));
}

TEST_CASE("a dry run announces that memory would move") {
  DryRunFixture fixture;
  const CpuRequest request{.pool = "fast", .cpus = {2}, .memory = CpuRequest::Memory::Near, .migrate = true};
  CHECK(contains(fixture.changes_of(CreateWorkload{for_unit("feed.service", request)}),
                 "memory of feed.service: 5 MiB on nodes 0-1, not on nodes 0, moved by an operation"));
}

TEST_CASE("a dry run has the number that the workload would get") {
  DryRunFixture fixture;
  const auto first = value_of(fixture.create(for_cpus({.pool = "fast", .cpus = {2}})));
  REQUIRE(fixture.remove(first.id));
  const CreateWorkload command{for_cpus({.pool = "fast", .cpus = {2}})};
  const WorkloadId planned = fixture.dry_run(command)->workload.id;
  CHECK(planned == fixture.apply(command)->id);
}

}  // namespace nrd::dry_run_test
