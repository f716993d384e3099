#include "api/v1/monitoring.h"

#include <doctest/doctest.h>

namespace nrd::monitoring_test {

using namespace std::chrono_literals;
using v1::usage_of;

TEST_CASE("usage is that of a workload whose grant has not changed since, whatever the clock says") {
  const rdt::MonitoringDomain domain{CacheId{3, 0}};
  const auto counted = [&domain](uint64_t total) {
    return rdt::Usages{{ClosId{1}, {{domain, {.occupancy_bytes = 64, .total_bytes = total, .local_bytes = {}}}}}};
  };
  Workload workload{.id = WorkloadId{1}, .spec = {}, .grant = {.clos = ClosId{1}}, .created = {}, .updated = Time(9h)};
  const Workloads workloads({workload});
  const Time set_back(1h);
  const UsageSample first = next_sample(nullptr, counted(0), workloads, UsageSample::Steady(1s), set_back);
  const UsageSample second = next_sample(&first, counted(9), workloads, UsageSample::Steady(2s), set_back);
  REQUIRE(usage_of(first, workload, domain));
  CHECK_FALSE(usage_of(first, workload, domain)->total_bytes_per_second);
  REQUIRE(usage_of(second, workload, domain));
  CHECK(usage_of(second, workload, domain)->total_bytes_per_second == 9.0);

  ++workload.revision;
  CHECK_FALSE(usage_of(second, workload, domain));
  const UsageSample third = next_sample(&second, counted(18), Workloads({workload}), UsageSample::Steady(3s), set_back);
  REQUIRE(usage_of(third, workload, domain));
  CHECK_FALSE(usage_of(third, workload, domain)->total_bytes_per_second);
}

}  // namespace nrd::monitoring_test
