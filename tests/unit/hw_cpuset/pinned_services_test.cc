#include "hw/cpuset/pinned_services.h"

#include <doctest/doctest.h>

namespace nrd::cpuset::pinned_services_test {

TEST_CASE("services with CPUAffinity= on exclusive CPUs conflict, unless they are targets of workloads") {
  const PoolUse use{
      .pooled = *CpuSet::parse("2-9"),
      .exclusive = *CpuSet::parse("2-5"),
      .holders = {{"7", {.cpus = CpuSet{2}, .targets = {{.kind = Target::Kind::Unit, .name = "feed.service"}}}}}};
  const auto found = affinity_conflicts(
      {{"feed.service", CpuSet{2}}, {"far.service", CpuSet{0, 8}}, {"log.service", CpuSet{1, 4, 5}}}, use);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "log.service");
  CHECK(found[0].source == Conflict::Source::Unit);
  CHECK(found[0].cpus == CpuSet{4, 5});
  CHECK(found[0].text == "log.service is configured to run on CPU 4-5 (CPUAffinity=1,4-5)");
}

}  // namespace nrd::cpuset::pinned_services_test
