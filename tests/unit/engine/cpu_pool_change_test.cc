// Grants beside a changed configuration of pools.
#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_pool_change_test {

using namespace nrd::testing;

TEST_CASE("granted CPUs stay with their workload when a start finds them in another pool") {
  CpuPoolFixture fixture;
  const auto own = fixture.create(for_cpus({.pool = "fast", .count = 2}, {a_process(10)}));
  REQUIRE((own && fixture.create(for_cpus({.pool = "common"}, {a_process(20)}))));
  fixture.config.cpu_pools = {{.name = "fast", .cpus = *CpuSet::parse("10-15")},
                              {.name = "common", .cpus = *CpuSet::parse("2-9"), .kind = CpuPool::Kind::Shared}};
  fixture.start();
  CHECK(fixture.runs_on(10) == "2,4");
  CHECK(fixture.runs_on(20) == "6-9");  // without the idle siblings, too
  CHECK(problem_of(fixture.state()).find("CPU 2-5 of workload 1 is outside its pool fast") != std::string::npos);
  REQUIRE(fixture.remove(own->id));
  CHECK(fixture.runs_on(20) == "2-9");
  CHECK(problem_of(fixture.state()).empty());
}

TEST_CASE("a reload that leaves less CPU time than requested is refused with the workloads") {
  CpuPoolFixture fixture;
  fixture.add_group(kUnit);
  REQUIRE(fixture.create(for_unit(kUnit.name, {.pool = "common", .request_milli = 1500})));
  NodeConfig smaller = fixture.config;
  smaller.cpu_pools.back().cpus = CpuSet{8};
  const Error refused = error_of(fixture.transaction->reconfigure(smaller, ReloadMode::Apply));
  CHECK(refused.code == ErrorCode::Conflict);
  CHECK(refused.message.find("pool common would have 1000") != std::string::npos);
  CHECK(refused.message.find("workloads 1 requested 1500") != std::string::npos);
}

}  // namespace nrd::cpu_pool_change_test
