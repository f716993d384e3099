// CPU time of workloads in shared pools.
#include "engine/model/cpu_shares.h"

#include <doctest/doctest.h>

#include "engine/plan/grant.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_shares_test {

using namespace nrd::testing;

namespace {

using cpuset::Share;
using cpuset::Target;

// With feed.service, to which an administrator gave a weight; and /pod, of a container runtime.
struct ShareFixture : CpuPoolFixture {
  ShareFixture() {
    for (const Target& target : {kUnit, kCgroup}) {
      add_group(target, {a_process(10)});
    }
    hardware.tree.cpuset.shares[kUnit] = {.weight = 250};
    hardware.tree.cpuset.shares[kCgroup] = {.weight = 100};
  }
  const Share& share() const { return hardware.tree.cpuset.shares.at(kUnit); }
};

Spec with_share(uint32_t request, uint32_t limit = 0) {
  return for_unit(kUnit.name, {.pool = "common", .request_milli = request, .limit_milli = limit});
}

}  // namespace

TEST_CASE("the weight of a request is the one that systemd and Kubernetes compute") {
  for (const auto& [milli, weight] :
       {std::pair{1, 1}, {2, 1}, {100, 4}, {500, 20}, {1000, 39}, {2000, 79}, {8000, 313}, {256'000, 10'000}}) {
    CAPTURE(milli);
    CHECK(weight_of(static_cast<uint32_t>(milli)) == static_cast<uint32_t>(weight));
  }
}

TEST_CASE("a unit gets its share, follows a change of it, and has its own again afterwards") {
  ShareFixture fixture;
  const Observed before = fixture.hardware.tree;
  const auto workload = value_of(fixture.create(with_share(500, 1500)));
  CHECK(fixture.share() == Share{.weight = 20, .quota_us = 150'000});
  CHECK(is_applied(fixture.state(), workload));
  CHECK(fixture.hardware.tree.cpuset.targets.at(kUnit).cpus == CpuSet{8, 9});
  // Another program changes it.
  fixture.hardware.tree.cpuset.shares[kUnit].weight = 999;
  fixture.transaction->repair();
  CHECK(fixture.share().weight == 20);
  // After a restart.
  fixture.start();
  CHECK(fixture.share() == Share{.weight = 20, .quota_us = 150'000});
  REQUIRE(fixture.patch(workload.id, {.cpu = members<CpuRequest>(R"({"request_milli": 1000})")}));
  CHECK(fixture.share() == Share{.weight = 39, .quota_us = 150'000});
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree == before);
  CHECK(fixture.store.baselines().cpu_shares.empty());
}

TEST_CASE("a limit below the least quota of the kernel has a longer period") {
  ShareFixture fixture;
  REQUIRE(fixture.create(with_share(5, 5)));
  CHECK(fixture.share() == Share{.weight = 1, .quota_us = 5'000, .period_us = cpuset::kMicroseconds});
}

TEST_CASE("the workloads of a pool request at most its CPUs") {
  ShareFixture fixture;
  REQUIRE(fixture.create(with_share(1500)));
  Spec second = with_share(501);
  second.unit.clear();
  second.cgroup = kCgroup.name;
  fixture.hardware.tree.cpuset.groups[kCgroup].processes = {};
  const Error refused = error_of(fixture.create(second));
  CHECK(refused.code == ErrorCode::NotEnough);
  CHECK(refused.field == "/cpu/request_milli");
  CHECK(refused.allowed == "at most 500");
  second.cpu->request_milli = 500;
  CHECK(fixture.create(second));
}

TEST_CASE("a share that cannot be is refused at its member, and nothing has changed") {
  ShareFixture fixture;
  const Observed before = fixture.hardware.tree;
  CHECK(error_of(fixture.create(with_share(500, 499))).field == "/cpu/limit_milli");
  CHECK(error_of(fixture.create(with_share(0, 500))).field == "/cpu/request_milli");
  CHECK(error_of(fixture.create(with_share(2001))).code == ErrorCode::NotEnough);
  const Error of_task = error_of(fixture.create(for_cpus({.pool = "common", .request_milli = 500}, {a_process(20)})));
  CHECK(of_task.code == ErrorCode::Unsupported);
  Spec exclusive = with_share(500);
  exclusive.cpu->pool = "fast";
  CHECK(error_of(fixture.create(exclusive)).message.find("exclusive") != std::string::npos);
  Spec runtime = with_share(500);
  runtime.cpu->enforce = CpuRequest::Enforce::Runtime;
  CHECK(error_of(fixture.create(runtime)).field == "/cpu/enforce");
  CHECK(fixture.hardware.tree == before);
}

TEST_CASE("a failed write leaves the CPU time of a unit as it was") {
  check_failed_writes<ShareFixture>(with_share(500, 1500), 2);
}

TEST_CASE("only a dry run chooses among given CPUs") {
  CpuPoolFixture fixture;
  Spec spec = for_cpus({.pool = "fast", .count = 2, .among = *CpuSet::parse("10-15")});
  CHECK(error_of(fixture.create(spec)).field == "/cpu/among");
  const auto planned = value_of(plan::create(fixture.state(), WorkloadId{1}, spec, {}));
  CHECK(planned.at(WorkloadId{1}).grant.cpu->exclusive == CpuSet{10, 12});
  spec.cpu->among = CpuSet{10, 11};
  CHECK(error_of(plan::create(fixture.state(), WorkloadId{1}, spec, {})).code == ErrorCode::NotEnough);
}

TEST_CASE("the cpuset of a container runtime is read and not written") {
  ShareFixture fixture;
  const Observed before = fixture.hardware.tree;
  Spec spec = for_cpus({.pool = "fast", .count = 2, .enforce = CpuRequest::Enforce::Runtime});
  spec.cgroup = kCgroup.name;
  const auto workload = value_of(fixture.create(spec));
  CHECK(fixture.hardware.tree.cpuset == before.cpuset);
  CHECK_FALSE(is_applied(fixture.state(), workload));
  fixture.hardware.tree.cpuset.targets[kCgroup].cpus = workload.grant.cpu->exclusive;
  fixture.transaction->repair();
  CHECK(is_applied(fixture.state(), fixture.state().workloads.at(workload.id)));
  REQUIRE(fixture.remove(workload.id));
  CHECK(fixture.hardware.tree.cpuset.targets.at(kCgroup).cpus == workload.grant.cpu->exclusive);
}

}  // namespace nrd::cpu_shares_test
