// Names of the scopes that nrd starts.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_scopes_test {

using namespace nrd::testing;

// The process that a refused request has moved into its scope stays there.
TEST_CASE("the scope of a refused request is not the one of the next request") {
  CpuPoolFixture fixture;
  const auto scope_of = [](uint64_t number, pid_t process) {
    return cpuset::Target{.kind = cpuset::Target::Kind::Scope,
                          .name = "nrd-" + std::to_string(number) + ".scope",
                          .task = a_process(process)};
  };
  for (const auto& scope : {scope_of(1, 10), scope_of(1, 20), scope_of(2, 20)})
    fixture.hardware.tree.cpuset.targets[scope] = {.cpus = fixture.everywhere};
  const auto request = [](pid_t process) {
    Spec spec = for_cpus({.pool = "fast", .count = 2}, {a_process(process)});
    spec.owner = Owner{.pid = process, .start = 7, .boot_id = "boot-1"};
    spec.runs_caller = true;
    return spec;
  };
  bool restarts = false;
  SUBCASE("a write fails") { fixture.hardware.fail_at_write = fixture.hardware.writes + 1; }
  SUBCASE("the commit fails") { fixture.store.next_outcomes = {store::Committed::Done, store::Committed::NotDone}; }
  SUBCASE("a write fails, and nrd starts again") {
    fixture.hardware.fail_at_write = fixture.hardware.writes + 1;
    restarts = true;
  }
  REQUIRE_FALSE(fixture.create(request(10)));
  if (restarts) fixture.start();
  const auto next = value_of(fixture.create(request(20)));
  CHECK(next.id == WorkloadId{2});
  CHECK(fixture.hardware.tree.cpuset.targets.at(scope_of(2, 20)).cpus.to_string() == "2,4");
  CHECK(fixture.hardware.tree.cpuset.targets.at(scope_of(1, 10)).cpus == fixture.everywhere);
  CHECK(fixture.hardware.tree.cpuset.targets.at(scope_of(1, 20)).cpus == fixture.everywhere);
}

}  // namespace nrd::cpu_scopes_test
