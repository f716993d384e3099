#include "engine/model/cpu_quotas.h"

#include <doctest/doctest.h>

#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_quotas_test {

using namespace nrd::testing;

namespace {

const CpuQuotas kQuotas{.users = {{1001, {.pools = {"fast"}, .count = 1}}},
                        .groups = {{50, {.pools = {"fast"}, .count = 8}}, {51, {.pools = {"slow"}, .count = 4}}},
                        .names = {{1001, "alice"}}};

const LocalUser kAlice{.uid = 1001, .groups = {7}};
const LocalUser kBob{.uid = 1002, .groups = {50}};
const LocalUser kGuest{.uid = 1003, .groups = {7}};

// 2 sockets of 8 CPUs, two threads a core. Alice may have 3 CPUs of two pools, each member of group 50 may have 4 of
// one.
struct Fixture : nrd::testing::TransactionFixture {
  Fixture() : TransactionFixture(with_threads(), with_quotas()) {
    hardware.add_task(a_process(10), CpuSet::first(16));
    start();
  }
  static NodeConfig with_quotas() {
    NodeConfig config;
    config.cpu_pools = {{.name = "fast", .cpus = *CpuSet::parse("2-11")},
                        {.name = "slow", .cpus = CpuSet{12, 13}},
                        {.name = "common", .cpus = CpuSet{14, 15}, .kind = CpuPool::Kind::Shared}};
    config.cpu_quotas = CpuQuotas{.users = {{1001, {.pools = {"fast", "common"}, .count = 3}}},
                                  .groups = {{50, {.pools = {"fast"}, .count = 4}}},
                                  .names = {{1001, "alice"}}};
    return config;
  }

  Result<Workload> create_as(const std::optional<LocalUser>& user, Spec spec) {
    return apply(CreateWorkload{.spec = std::move(spec), .quota_user = user});
  }
  Result<Workload> patch_as(const std::optional<LocalUser>& user, WorkloadId id, const char* cpu) {
    return apply(PatchWorkload{.id = id, .patch = {.cpu = members<CpuRequest>(cpu)}, .quota_user = user});
  }
  // "/cpu/count: ..."; empty: granted, and undone.
  std::string refusal(const std::optional<LocalUser>& user, const Spec& spec) {
    const Result<Workload> made = create_as(user, spec);
    if (made) REQUIRE(remove(made->id));
    return made ? "" : text_of(made.error());
  }
  static std::string text_of(const Error& error) {
    CHECK(error.code == ErrorCode::Forbidden);
    return error.field + ": " + error.message + " (" + error.allowed + ")";
  }
};

}  // namespace

TEST_CASE("the quota of a user is its own, else that of all its groups together") {
  struct Row {
    LocalUser user;
    std::optional<CpuQuota> quota;
  };
  for (const auto& [user, quota] :
       {Row{{.uid = 1001, .groups = {50, 51}}, CpuQuota{.pools = {"fast"}, .count = 1}},
        Row{{.uid = 1002, .groups = {50, 51}}, CpuQuota{.pools = {"fast", "slow"}, .count = 8}},
        Row{{.uid = 1002, .groups = {7, 51}}, CpuQuota{.pools = {"slow"}, .count = 4}},
        Row{{.uid = 1002, .groups = {7}}, std::nullopt}, Row{{.uid = 50, .groups = {1001}}, std::nullopt}}) {
    CAPTURE(user.uid);
    CHECK(quota_of(kQuotas, user) == quota);
  }
}

TEST_CASE("users with a quota of their own are named, others numbered") {
  CHECK(name_of(kQuotas, {.uid = 1001}) == "alice");
  CHECK(name_of(kQuotas, {.uid = 1002, .groups = {50}}) == "uid 1002");
}

TEST_CASE("a request beyond the quota is refused with the numbers") {
  Fixture fixture;
  REQUIRE(fixture.create_as(kAlice, for_cpus({.pool = "fast", .count = 2})));
  const Observed before = fixture.hardware.tree;
  struct Row {
    const LocalUser* user;
    Spec spec;
    const char* refusal;
  };
  for (const auto& [user, spec, refusal] :
       {Row{&kAlice, for_cpus({.pool = "fast", .count = 1}), ""},
        Row{&kAlice, for_cpus({.pool = "fast", .count = 2}),
            "/cpu/count: alice has 2 of 3 CPUs of pools; 2 more were requested (at most 1 CPU)"},
        Row{&kAlice, for_cpus({.pool = "fast", .cores = 1}),
            "/cpu/cores: alice has 2 of 3 CPUs of pools; 2 more were requested (at most 1 CPU)"},
        Row{&kAlice, for_cpus({.pool = "fast", .cpus = CpuSet{8, 10}}),
            "/cpu/cpus: alice has 2 of 3 CPUs of pools; 2 more were requested (at most 1 CPU)"},
        Row{&kAlice, a_spec("2"), ""},
        Row{&kAlice, a_spec("2-3"), "/core_ids: alice has 2 of 3 CPUs of pools; 2 more were requested (at most 1 CPU)"},
        Row{&kAlice, a_spec("0-1"), ""},
        Row{&kAlice, for_cpus({.pool = "slow", .count = 1}),
            "/cpu/pool: alice may not take CPUs of pool slow (common, fast)"},
        Row{&kAlice, a_spec("12"),
            "/core_ids: CPU 12 is in pool slow, of which alice may not take CPUs (common, fast)"},
        Row{&kAlice, for_cpus({.pool = "common"}, {a_process(10)}), ""},
        Row{&kBob, for_cpus({.pool = "fast", .count = 3}), ""},
        Row{&kBob, for_cpus({.pool = "fast", .count = 5}),
            "/cpu/count: uid 1002 has 0 of 4 CPUs of pools; 5 more were requested (at most 4 CPUs)"},
        Row{&kBob, for_cpus({.pool = "common"}, {a_process(10)}),
            "/cpu/pool: uid 1002 may not take CPUs of pool common (fast)"},
        Row{&kGuest, for_cpus({.pool = "fast", .count = 1}),
            "/cpu/pool: uid 1003 has no quota of CPUs of pools (cpu.quotas) (CPUs outside of pools)"},
        Row{&kGuest, a_spec("2"),
            "/core_ids: uid 1003 has no quota of CPUs of pools (cpu.quotas) (CPUs outside of pools)"},
        Row{&kGuest, a_spec("0"), ""}}) {
    CAPTURE(refusal);
    CHECK(fixture.refusal(*user, spec) == refusal);
    CHECK(fixture.hardware.tree == before);
  }
}

TEST_CASE("CPUs of several pools count together, and the refusal says how many of its pool fit") {
  Fixture fixture;
  NodeConfig both = fixture.config;
  both.cpu_quotas->users.at(1001).pools.insert("slow");
  REQUIRE(fixture.transaction->reconfigure(both, ReloadMode::Apply));
  Spec spec = for_cpus({.pool = "fast", .count = 2});
  spec.further_cpus = {{.pool = "slow", .count = 2}};
  CHECK(fixture.refusal(kAlice, spec) ==
        "/cpu/1/count: alice has 0 of 3 CPUs of pools; 4 more were requested (at most 1 CPU)");
  spec.cpu->count = 3;
  CHECK(fixture.refusal(kAlice, spec) ==
        "/cpu/1/count: alice has 0 of 3 CPUs of pools; 5 more were requested (none beside those of the other pools)");
  spec.cpu->count = 2;
  spec.further_cpus.front().count = 1;
  CHECK(fixture.refusal(kAlice, spec).empty());
}

TEST_CASE("two requests at once do not exceed the quota together") {
  Fixture fixture;
  const CreateWorkload two{.spec = for_cpus({.pool = "fast", .count = 2}), .quota_user = kAlice};
  const std::vector<Command> both{two, two};
  const auto applied = fixture.transaction->apply(both);
  CHECK(applied.front());
  REQUIRE_FALSE(applied.back());
  CHECK(applied.back().error().code == ErrorCode::Forbidden);
}

TEST_CASE("a quota that is used up is free again with the end of a workload") {
  Fixture fixture;
  const auto all = value_of(fixture.create_as(kAlice, for_cpus({.pool = "fast", .count = 3})));
  CHECK(fixture.refusal(kAlice, for_cpus({.pool = "fast", .count = 1})) ==
        "/cpu/count: alice has 3 of 3 CPUs of pools; 1 more was requested (none until one of its workloads ends)");
  fixture.start();  // as after a stop
  CHECK(fixture.refusal(kAlice, for_cpus({.pool = "fast", .count = 1})) != "");
  REQUIRE(fixture.remove(all.id));
  CHECK(fixture.refusal(kAlice, for_cpus({.pool = "fast", .count = 3})) == "");
}

TEST_CASE("the quota also limits what a patch adds, but not what it keeps or gives back") {
  Fixture fixture;
  const WorkloadId id = fixture.create_as(kAlice, for_cpus({.pool = "fast", .count = 2}))->id;
  CHECK(Fixture::text_of(error_of(fixture.patch_as(kAlice, id, R"({"count": 4})"))) ==
        "/cpu/count: alice has 2 of 3 CPUs of pools; 2 more were requested (at most 3 CPUs)");
  CHECK(fixture.patch_as(kAlice, id, R"({"count": 3})"));
  CHECK(error_of(fixture.patch_as(kAlice, id, R"({"pool": "slow", "count": 1})")).field == "/cpu/pool");

  NodeConfig less = fixture.config;
  less.cpu_quotas->users.at(1001) = {.pools = {}, .count = 0};
  REQUIRE(fixture.transaction->reconfigure(less, ReloadMode::Apply));
  CHECK(fixture.patch_as(kAlice, id, R"({"level": "l3"})"));
  CHECK(fixture.patch_as(kAlice, id, R"({"count": 2})"));
  CHECK_FALSE(fixture.patch_as(kAlice, id, R"({"count": 3})"));
}

TEST_CASE("a user that has lost its quota keeps CPUs of pools that it named") {
  Fixture fixture;
  const WorkloadId id = value_of(fixture.create_as(kAlice, a_spec("2,4"))).id;
  NodeConfig without = fixture.config;
  without.cpu_quotas->users.erase(kAlice.uid);
  REQUIRE(fixture.transaction->reconfigure(without, ReloadMode::Apply));
  const auto patch = [&](const char* cpus) {
    const SpecPatch changed{.core_ids = std::vector<std::string>{cpus}, .cpus = *CpuSet::parse(cpus)};
    return fixture.apply(PatchWorkload{.id = id, .patch = changed, .quota_user = kAlice});
  };
  CHECK(error_of(patch("2,4,6")).code == ErrorCode::Forbidden);
  CHECK(patch("2"));
}

TEST_CASE("clients with other roles are not limited, and what they add to a workload counts for its user") {
  Fixture fixture;
  const auto hers = value_of(fixture.create_as(kAlice, for_cpus({.pool = "fast", .count = 1})));
  CHECK(hers.spec.quota_uid == kAlice.uid);
  REQUIRE(fixture.patch_as(std::nullopt, hers.id, R"({"count": 4})"));
  CHECK(fixture.refusal(kAlice, for_cpus({.pool = "fast", .count = 1})) ==
        "/cpu/count: alice has 4 of 3 CPUs of pools; 1 more was requested (none until one of its workloads ends)");
  CHECK(fixture.create_as(std::nullopt, for_cpus({.pool = "slow", .count = 1}))->spec.quota_uid == std::nullopt);

  Spec smaller = for_cpus({.pool = "fast", .count = 1});
  smaller.given_id = id_text(hers);
  const auto replaced = value_of(fixture.apply(PutWorkload{.spec = smaller}));
  CHECK(replaced.spec.quota_uid == kAlice.uid);
}

TEST_CASE("a workload of an administrator counts for the user that adds CPUs to it") {
  Fixture fixture;
  const WorkloadId id = fixture.create_as(std::nullopt, for_cpus({.pool = "fast", .count = 3}))->id;
  CHECK(fixture.patch_as(kBob, id, R"({"level": "l3"})")->spec.quota_uid == std::nullopt);
  CHECK(Fixture::text_of(error_of(fixture.patch_as(kBob, id, R"({"count": 5})"))) ==
        "/cpu/count: uid 1002 has 0 of 4 CPUs of pools; 5 more were requested (at most 4 CPUs)");
  CHECK(fixture.patch_as(kBob, id, R"({"count": 4})")->spec.quota_uid == kBob.uid);
}

TEST_CASE("without quotas no client is limited, but its workloads count as soon as there are some") {
  Fixture fixture;
  NodeConfig none = fixture.config;
  none.cpu_quotas.reset();
  REQUIRE(fixture.transaction->reconfigure(none, ReloadMode::Apply));
  REQUIRE(fixture.create_as(kGuest, for_cpus({.pool = "slow", .count = 1})));
  REQUIRE(fixture.create_as(kAlice, for_cpus({.pool = "fast", .count = 4})));
  REQUIRE(fixture.transaction->reconfigure(fixture.config, ReloadMode::Apply));
  CHECK(fixture.refusal(kAlice, for_cpus({.pool = "fast", .count = 1})) ==
        "/cpu/count: alice has 4 of 3 CPUs of pools; 1 more was requested (none until one of its workloads ends)");
}

TEST_CASE("dry runs are refused as the requests would be") {
  Fixture fixture;
  const Spec four = for_cpus({.pool = "fast", .count = 4});
  CHECK(error_of(fixture.dry_run(CreateWorkload{.spec = four, .quota_user = kAlice})).field == "/cpu/count");
  CHECK(fixture.dry_run(CreateWorkload{.spec = four}));
  Spec named = four;
  named.given_id = "feed";
  CHECK_FALSE(fixture.dry_run(PutWorkload{.spec = named, .quota_user = kAlice}));
  const WorkloadId id = fixture.create_as(kAlice, for_cpus({.pool = "fast", .count = 1}))->id;
  const SpecPatch larger{.cpu = members<CpuRequest>(R"({"count": 4})")};
  CHECK_FALSE(fixture.dry_run(PatchWorkload{.id = id, .patch = larger, .quota_user = kAlice}));
  CHECK(fixture.dry_run(PatchWorkload{.id = id, .patch = larger}));
}

}  // namespace nrd::cpu_quotas_test
