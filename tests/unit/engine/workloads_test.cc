#include "engine/model/workloads.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace nrd::workloads_test {
namespace {

Workload a_workload(uint64_t id, const std::string& uuid = "") {
  Workload workload;
  workload.id = WorkloadId{id};
  workload.spec.uuid = uuid;
  return workload;
}

Workloads two() {
  Workloads workloads;
  workloads.put(a_workload(1, "first"));
  workloads.put(a_workload(2, "second"));
  return workloads;
}

}  // namespace

TEST_CASE("a copy of the workloads keeps its contents when the original changes") {
  Workloads workloads = two();
  const Workloads copy = workloads;
  workloads.put(a_workload(2, "changed"));
  workloads.erase(WorkloadId{1});
  CHECK(copy == two());
  CHECK(workloads.size() == 1);
  CHECK(workloads.at(WorkloadId{2}).spec.uuid == "changed");
}

TEST_CASE("unchanged workloads are shared between copies") {
  Workloads workloads = two();
  const Workloads copy = workloads;
  workloads.put(a_workload(2, "changed"));
  CHECK(&copy.at(WorkloadId{1}) == &workloads.at(WorkloadId{1}));
}

TEST_CASE("new and changed workloads are found by comparison") {
  const Workloads before = two();
  Workloads after = before;
  after.put(a_workload(1, "first"));  // equal, at another address
  after.put(a_workload(2, "changed"));
  after.put(a_workload(3));
  std::vector<WorkloadId> changed;
  for (const Workload* workload : after.changed_since(before)) changed.push_back(workload->id);
  CHECK(changed == std::vector{WorkloadId{2}, WorkloadId{3}});
  CHECK(after.next_id() == WorkloadId{4});
  CHECK(Workloads{}.next_id() == WorkloadId{1});
}

}  // namespace nrd::workloads_test
