#include "engine/model/reserves.h"

#include "engine/model/capacity.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::reserves_test {

using namespace nrd::testing;

namespace {

constexpr const char* kOrigin = "kubernetes";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// 11 ways, of which 1 to 5 are for guarantees. The pools of CPUs: fast, 2-7,10-15 in cores of two; common, 8-9.
struct Fixture : nrd::testing::CpuPoolFixture {
  explicit Fixture(const Reserve& reserve) { reconfigure(reserve); }
  void reconfigure(const Reserve& reserve) {
    NodeConfig changed = *state().config;
    changed.reserves = {{kOrigin, reserve}};
    REQUIRE(transaction->reconfigure(changed, ReloadMode::Apply));
  }
  void set_default_pool(const std::string& pool) {
    NodeConfig changed = *state().config;
    changed.default_pool = pool;
    REQUIRE(transaction->reconfigure(changed, ReloadMode::Apply));
  }
  Result<Workload> create_as(const char* origin, Spec spec) {
    return apply(CreateWorkload{.spec = std::move(spec), .origin = origin});
  }
  ReserveCapacity capacity() const { return capacity_of(state()).by_origin.at(kOrigin); }
};

Reserve with_pools() {
  Reserve reserve;
  reserve.pools.emplace();
  (*reserve.pools)["fast"].listed = *CpuSet::parse("4-7");
  (*reserve.pools)["common"].of_share = 1;
  return reserve;
}

Spec share(uint32_t milli, const char* cgroup) {
  Spec spec = for_cpus({.pool = "common", .request_milli = milli, .enforce = CpuRequest::Enforce::Runtime});
  spec.cgroup = cgroup;
  return spec;
}

}  // namespace

TEST_CASE("reserved ways are for one origin alone, and its limit") {
  Fixture fixture({.ways = 3});
  const Error refused = error_of(fixture.create_as(kOriginRest, a_spec("2").ways(3, 3)));
  CHECK(refused.code == ErrorCode::NotEnough);
  CHECK(refused.field == "/cache/max");
  CHECK(has(refused.message, "; 3 ways are reserved for origin kubernetes (reserve.kubernetes.ways)"));
  CHECK(refused.allowed == "at most 2");
  CHECK(fixture.create_as(kOriginRest, a_spec("2").ways(2, 2)));
  CHECK(fixture.create_as(kOrigin, a_spec("4").ways(2, 2)));
  CHECK(has(error_of(fixture.create_as(kOrigin, a_spec("6").ways(2, 2))).message,
            "origin kubernetes has 1 of 3 reserved ways left (reserve.kubernetes.ways)"));
  CHECK(fixture.create_as(kOrigin, a_spec("6").ways(1, 1)));
  CHECK(fixture.create_as(kOriginRest, a_spec("10").ways(2, 2)));  // on the other cache
}

TEST_CASE("the capacity of ways does not change with workloads of the origin, but with those that were there before") {
  Fixture fixture({.ways = 2});
  CHECK(fixture.capacity().ways == 2U);
  REQUIRE(fixture.create_as(kOrigin, a_spec("2").ways(2, 2)));
  CHECK(fixture.capacity().ways == 2U);
  const auto other = value_of(fixture.create_as(kOriginRest, a_spec("10").ways(3, 3)));
  CHECK(fixture.capacity().ways == 2U);
  fixture.reconfigure({.ways = 4});
  CHECK(fixture.capacity().ways == 2U);  // on the cache of CPU 10
  REQUIRE(fixture.remove(other.id));
  CHECK(fixture.capacity().ways == 4U);
}

TEST_CASE("without a free class the capacity is what the origin has") {
  Fixture fixture({.ways = 4});
  REQUIRE(fixture.create_as(kOrigin, a_spec("2").ways(1, 1)));
  NodeConfig config = *fixture.state().config;
  config.reserved_classes = 1024;
  REQUIRE(fixture.transaction->reconfigure(config, ReloadMode::Apply));
  CHECK(fixture.capacity().ways == 1U);
}

TEST_CASE("reserved CPUs are for one origin alone, and its limit") {
  Fixture fixture(with_pools());
  const Error others =
      error_of(fixture.create_as(kOriginRest, for_cpus({.pool = "fast", .cpus = *CpuSet::parse("4")})));
  CHECK(others.field == "/cpu/cpus");
  CHECK(has(others.message, "; CPU 4-7 of pool fast is reserved for origin kubernetes (reserve.kubernetes.pools)"));
  CHECK(has(error_of(fixture.create_as(kOrigin, for_cpus({.pool = "fast", .cpus = *CpuSet::parse("2")}))).message,
            "; origin kubernetes may have CPU 4-7 of pool fast (reserve.kubernetes.pools)"));
  const auto granted = value_of(fixture.create_as(kOrigin, for_cpus({.pool = "fast", .count = 2})));
  CHECK(granted.grant.cpu->exclusive.is_subset_of(*CpuSet::parse("4-7")));
  const auto rest = value_of(fixture.create_as(kOriginRest, for_cpus({.pool = "fast", .count = 4})));
  CHECK_FALSE(reserved_cpus_of(rest).intersects(*CpuSet::parse("4-7")));
  CHECK_FALSE(fixture.create_as(kOrigin, for_cpus({.pool = "fast", .count = 1})));
  CHECK(fixture.capacity().cpus.at("fast") == *CpuSet::parse("4-7"));
}

TEST_CASE("core_ids take no CPUs of a reserve, and the origin none outside") {
  Fixture fixture(with_pools());
  const Error others = error_of(fixture.create_as(kOriginRest, a_spec("4-5").ways(1, 1)));
  CHECK(others.field == "/core_ids");
  CHECK(others.code == ErrorCode::Conflict);
  CHECK_FALSE(fixture.create_as(kOrigin, a_spec("2").ways(1, 1)));
  CHECK(fixture.create_as(kOrigin, a_spec("4").ways(1, 1)));
  CHECK(fixture.create_as(kOriginRest, a_spec("2").ways(1, 1)));
}

TEST_CASE("a workload keeps the CPUs that became reserved for another origin") {
  Fixture fixture({});
  const auto early =
      value_of(fixture.create_as(kOriginRest, for_cpus({.pool = "fast", .cpus = *CpuSet::parse("4,6")})));
  fixture.reconfigure(with_pools());
  CHECK(fixture.capacity().cpus.at("fast") == CpuSet());
  SpecPatch grown;
  grown.cpu = nrd::testing::members<CpuRequest>(R"({"count": 3})");
  const auto patched = value_of(fixture.patch(early.id, grown));
  CHECK(CpuSet::parse("4,6")->is_subset_of(patched.grant.cpu->exclusive));
  REQUIRE(fixture.remove(early.id));
  CHECK(fixture.capacity().cpus.at("fast") == *CpuSet::parse("4-7"));
}

TEST_CASE("the time of a shared pool is divided between the origin and all others") {
  Fixture fixture(with_pools());
  for (const char* cgroup : {"/a", "/b", "/c"}) {
    const cpuset::Target target{.kind = cpuset::Target::Kind::Cgroup, .name = cgroup, .task = {}};
    fixture.add_group(target);
  }
  CHECK(fixture.create_as(kOriginRest, share(1000, "/a")));
  const Error refused = error_of(fixture.create_as(kOriginRest, share(1, "/b")));
  CHECK(refused.field == "/cpu/request_milli");
  CHECK(has(refused.message, "; 1000 thousandths of a CPU of pool common is reserved for origin kubernetes"));
  CHECK(fixture.create_as(kOrigin, share(600, "/b")));
  CHECK(error_of(fixture.create_as(kOrigin, share(401, "/c"))).allowed == "at most 400");
  CHECK(fixture.capacity().milli.at("common") == 1000);
}

TEST_CASE("reserves that the node cannot keep are refused with key and numbers") {
  Fixture fixture({});
  const auto problem = [&fixture](const Reserve& reserve) {
    NodeConfig config = *fixture.state().config;
    config.reserves = {{kOrigin, reserve}};
    const auto checked = fixture.transaction->reconfigure(config, ReloadMode::Check);
    return checked ? "" : checked.error().field + " " + checked.error().message;
  };
  const auto pool = [](const char* name, Reserve::Cpus cpus) {
    Reserve reserve;
    reserve.pools.emplace();
    (*reserve.pools)[name] = std::move(cpus);
    return reserve;
  };
  CHECK(problem({.ways = 5}) == "");
  CHECK(has(problem({.ways = 6}), "reserve.kubernetes: ways: 6 ways, but the guarantee pool has 5"));
  CHECK(has(problem(pool("slow", {.of_share = 1})), "pools.slow: there is no such pool"));
  CHECK(has(problem(pool("fast", {.of_share = 1})), "pools.fast: the pool is exclusive"));
  CHECK(has(problem(pool("common", {.listed = CpuSet{8}})), "pools.common: the pool is shared"));
  CHECK(has(problem(pool("common", {.of_share = 3})), "pools.common: 3 CPUs, but the pool has 2"));
  CHECK(has(problem(pool("fast", {.listed = CpuSet{4, 5, 8, 9}})), "pools.fast: CPU 8-9 is not in the pool"));
  CHECK(has(problem(pool("fast", {.listed = CpuSet{4}})), "pools.fast: CPU 4 is not a whole core"));
}

TEST_CASE("a request of a socket's origin without CPUs gets the default pool, others stay as they are") {
  Fixture fixture({});
  fixture.set_default_pool("common");
  Spec ways;
  ways.cache = CacheRequest{.max = 1, .min = 1};
  ways.tasks = {a_process(10)};
  const auto own = value_of(fixture.create_as(kOrigin, ways));
  CHECK(own.grant.cpu->pool == "common");
  CHECK(fixture.runs_on(10) == "8-9");
  ways.tasks = {a_process(20)};
  const auto other = value_of(fixture.create_as(kOriginRest, ways));
  CHECK_FALSE(other.grant.cpu);
  ways.cpu.emplace();
  ways.tasks = {a_process(30)};
  const auto named_none = value_of(fixture.create_as(kOriginRest, ways));
  CHECK(named_none.grant.cpu->pool == "common");
}

TEST_CASE("a request of a socket's origin for nothing gets the default pool, another one is refused") {
  Fixture fixture({});
  fixture.set_default_pool("common");
  Spec nothing;
  nothing.tasks = {a_process(10)};
  const auto own = value_of(fixture.create_as(kOrigin, nothing));
  CHECK(own.grant.cpu->pool == "common");
  CHECK(fixture.runs_on(10) == "8-9");
  nothing.tasks = {a_process(20)};
  CHECK(error_of(fixture.create_as(kOriginRest, nothing)).message == "the workload requests no resources");
}

TEST_CASE("the revision of the capacity grows with it, and starts above that of an earlier start") {
  SystemClock clock;
  CapacityRevision first(clock);
  const uint64_t before = first.of({.online = CpuSet{0}});
  CHECK(first.of({.online = CpuSet{0}}) == before);
  const uint64_t changed = first.of({.online = CpuSet{1}});
  CHECK(changed > before);
  CHECK(first.of({.online = CpuSet{0}}) > changed);
  CHECK(CapacityRevision(clock).of({}) >= before);
}

}  // namespace nrd::reserves_test
