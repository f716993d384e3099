#include "engine/plan/bandwidth.h"

#include <doctest/doctest.h>

#include <ostream>

#include "engine/model/setting.h"
#include "tests/unit/engine/fixtures.h"

namespace nrd::bandwidth_test {

using namespace nrd::testing;
using rdt::MbaUnit;

namespace {

constexpr auto kPercentage = MbaRequest::Unit::Percentage;
constexpr auto kMbps = MbaRequest::Unit::Mbps;

struct Fixture : nrd::testing::TransactionFixture {
  explicit Fixture(rdt::MbaInfo mba = {.step = 10, .least = 10}) {
    mount(mba);
    start();
  }
  void mount(const rdt::MbaInfo& mba) {
    hardware.facts.rdt.capabilities.mba_info = mba;
    for (auto& [clos, group] : hardware.tree.rdt.classes) {
      for (const auto& [cache, ways] : group.ways) group.bandwidth[cache] = mba.most;
    }
  }
  Result<Workload> create(uint32_t max, uint32_t min, MbaRequest mba) {
    Spec spec = a_spec("4").ways(max, min);
    spec.mba = mba;
    return TransactionFixture::create(spec);
  }
  uint32_t limit(uint32_t clos, uint32_t cache) {
    return hardware.tree.rdt.classes.at(ClosId{clos}).bandwidth.at(CacheId{3, cache});
  }
};

}  // namespace

TEST_CASE("limits are rounded up as the kernel rounds them") {
  const rdt::MbaInfo percent{.step = 10, .least = 10};
  CHECK(plan::limit_for(percent, {kPercentage, 1}).value == 10);
  CHECK(plan::limit_for(percent, {kPercentage, 11}).value == 20);
  CHECK(plan::limit_for(percent, {kPercentage, 91}).value == 100);
  const rdt::MbaInfo mbps{.step = 10, .least = 20, .unit = MbaUnit::Mbps, .most = 4294967295};
  CHECK(plan::limit_for(mbps, {kMbps, 1}).value == 10);
  CHECK(plan::limit_for(mbps, {kMbps, 5001}).value == 5010);
  const rdt::MbaInfo amd{.step = 1, .least = 0, .unit = MbaUnit::EighthsOfGbps, .most = 2048};
  CHECK(plan::limit_for(amd, {kMbps, 1}).value == 1);
  CHECK(plan::limit_for(amd, {kMbps, 5000}).value == 40);
  CHECK(plan::limit_for(amd, {kMbps, 5001}).value == 41);
}

TEST_CASE("a bandwidth limit that the node or workload cannot have is refused") {
  Fixture fixture;
  struct Row {
    uint32_t max, min;
    MbaRequest mba;
    const char* subject;
  };
  for (const Row& row : {Row{2, 2, {kMbps, 5000}, "percentage"}, Row{3, 1, {kPercentage, 50}, "guarantee"},
                         Row{0, 0, {kPercentage, 50}, "guarantee"}, Row{0, 0, {kPercentage, 100}, "shared"}}) {
    const Error refused = error_of(fixture.create(row.max, row.min, row.mba));
    CHECK(refused.code == ErrorCode::BadRequest);
    CHECK(refused.field == "/rdt/mba");
    CHECK(refused.subject == row.subject);
  }
  const auto whole = value_of(fixture.create(3, 1, {kPercentage, 100}));
  CHECK(whole.grant.bandwidth.empty());
  Fixture mbps({.step = 10, .least = 10, .unit = MbaUnit::Mbps, .most = 4294967295});
  CHECK(mbps.create(2, 2, {kPercentage, 50}).error().subject == "mbps");
  Fixture amd({.step = 1, .least = 0, .unit = MbaUnit::EighthsOfGbps, .most = 2048});
  CHECK(amd.create(2, 2, {kMbps, 256001}).error().allowed == "1 to 256000");
  CHECK(amd.create(2, 2, {kMbps, 256000}));
}

TEST_CASE("a workload does not get a class that other software has limited") {
  Fixture fixture;
  fixture.hardware.tree.rdt.classes[ClosId{2}] = fixture.hardware.new_group();
  fixture.hardware.tree.rdt.classes.at(ClosId{2}).bandwidth[CacheId{3, 1}] = 30;
  fixture.start();
  CHECK(fixture.create(2, 2, {kPercentage, 50})->grant.clos == ClosId{3});
  CHECK(fixture.limit(2, 1) == 30);
}

TEST_CASE("a workload without a class has no limit") {
  Fixture fixture;
  const auto workload = value_of(fixture.create(2, 2, {kPercentage, 50}));
  fixture.hardware.reboot("boot-2");
  fixture.hardware.facts.rdt.levels.at(3).cat->classes = 2;
  fixture.start();
  const Grant& left = fixture.state().workloads.at(workload.id).grant;
  CHECK_FALSE(left.has_class());
  CHECK(left.bandwidth.empty());
}

TEST_CASE("a limit in another unit is removed from a class") {
  Fixture fixture({.step = 10, .least = 0, .unit = MbaUnit::Mbps, .most = 4294967295});
  const auto first = value_of(fixture.create(2, 2, {.unit = kMbps, .value = 1000}));
  fixture.mount({.step = 10, .least = 10});
  fixture.transaction->repair();
  REQUIRE(fixture.remove(first.id));
  const auto second = value_of(fixture.create(2, 2, {.unit = kPercentage, .value = 50}));
  CHECK(fixture.limit(second.grant.clos.value, 0) == 50);
  SpecPatch without_mba;
  without_mba.mba.emplace();
  REQUIRE(fixture.patch(second.id, without_mba));
  CHECK(fixture.limit(second.grant.clos.value, 0) == 100);
}

}  // namespace nrd::bandwidth_test
