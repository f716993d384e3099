// The configuration of CPU pools against the node: what is refused, what is only warned of.
#include <doctest/doctest.h>

#include "engine/model/cpu_noise.h"
#include "tests/unit/engine/cpu_pool_fixture.h"

namespace nrd::cpu_pool_config_test {

using namespace nrd::testing;
using Fixture = CpuPoolFixture;

TEST_CASE("pools are checked against the node") {
  struct Row {
    CpuPools pools;
    const char* problem;
    const char* field = "cpu.pools/0";
  };
  Fixture fixture;
  for (const auto& [pools, problem, field] : {Row{{{.name = "a", .cpus = CpuSet{99}}}, "CPU 99 does not exist"},
                                              Row{{{.name = "b", .cpus = CpuSet{3}}, {.name = "a", .cpus = CpuSet{1}}},
                                                  "CPU 1 is also in os.cpus",
                                                  "cpu.pools/1"},
                                              Row{{{.name = "a", .cpus = CpuSet{2}}, {.name = "b", .cpus = CpuSet{3}}},
                                                  "its CPU 2 shares a core with CPU 3 of pool b"}}) {
    NodeConfig config;
    config.groups.os = CpuSet{0, 1};
    config.cpu_pools = pools;
    const Error refused = error_of(fixture.transaction->reconfigure(config, ReloadMode::Check));
    CHECK(refused.message.find(problem) != std::string::npos);
    CHECK(refused.field == field);
  }
  NodeConfig all;
  all.cpu_pools = {{.name = "a", .cpus = CpuSet::first(16)}};
  CHECK_FALSE(fixture.transaction->reconfigure(all, ReloadMode::Check));
}

TEST_CASE("isolated and rest are the CPUs of this node") {
  Fixture fixture;
  fixture.hardware.facts.rdt.isolated = *CpuSet::parse("10-15");
  fixture.start();
  NodeConfig config = fixture.config;
  config.cpu_pools = {{.name = "common", .source = CpuPool::Source::Rest, .kind = CpuPool::Kind::Shared},
                      {.name = "quiet", .source = CpuPool::Source::Isolated},
                      {.name = "fast", .cpus = CpuSet{4, 5}}};
  REQUIRE(fixture.transaction->reconfigure(config, ReloadMode::Apply));
  const CpuPools& pools = fixture.state().config->cpu_pools;
  CHECK(pools[0].cpus.to_string() == "2-3,6-9");
  CHECK(pools[1].cpus.to_string() == "10-15");
  CHECK(fixture.create(for_cpus({.pool = "quiet", .count = 1}))->grant.cpu->exclusive.to_string() == "10");

  fixture.config = config;
  fixture.start();
  CHECK(fixture.state().config->cpu_pools[0].cpus.to_string() == "2-3,6-9");
}

TEST_CASE("a pool of isolated CPUs or of the rest needs some") {
  struct Row {
    CpuPools pools;
    const char* problem;
  };
  Fixture fixture;
  for (const auto& [pools, problem] :
       {Row{{{.name = "quiet", .source = CpuPool::Source::Isolated}}, "pool quiet: cpus is \"isolated\", but"},
        Row{{{.name = "a", .cpus = *CpuSet::parse("2-15")}, {.name = "b", .source = CpuPool::Source::Rest}},
            "pool b: cpus is \"rest\", but"}}) {
    NodeConfig config;
    config.groups.os = CpuSet{0, 1};
    config.cpu_pools = pools;
    const Error refused = error_of(fixture.transaction->reconfigure(config, ReloadMode::Check));
    CHECK(refused.code == ErrorCode::BadRequest);
    CHECK(refused.message.find(problem) != std::string::npos);
  }
  fixture.hardware.facts.rdt.isolated = CpuSet{4, 5};
  fixture.start();
  NodeConfig overlapping;
  overlapping.cpu_pools = {{.name = "quiet", .source = CpuPool::Source::Isolated},
                           {.name = "fast", .cpus = CpuSet{5, 6}}};
  CHECK(error_of(fixture.transaction->reconfigure(overlapping, ReloadMode::Check))
            .message.find("CPU 5 is also in pool") != std::string::npos);
}

TEST_CASE("a node whose topology cannot be read starts without pools, and refuses them with the reason") {
  NodeConfig pools = with_pools();
  TransactionFixture fixture(with_threads(), {});
  fixture.hardware.facts.cpuset.zones = {};
  fixture.start();
  const Error refused = error_of(fixture.transaction->reconfigure(pools, ReloadMode::Check));
  CHECK(refused.code == ErrorCode::Hardware);
  CHECK(refused.message == "cpu.pools: the topology of the CPUs cannot be read (journal: NO_TOPOLOGY)");
}

TEST_CASE("offline CPUs of pools, and a divided core that was offline, are warnings") {
  Fixture fixture;
  CHECK(cpu_warnings(fixture.state()).empty());
  for (const uint32_t cpu : {6U, 7U, 9U}) fixture.hardware.facts.rdt.online.remove(CpuId{cpu});
  fixture.transaction->repair();
  CHECK(cpu_warnings(fixture.state()) ==
        std::vector<std::string>{"CPU pool fast cannot use CPU 6-7, which is offline",
                                 "CPU pool common cannot use CPU 9, which is offline"});
  fixture.hardware.facts.rdt.online = fixture.everywhere;
  fixture.hardware.facts.cpuset.zones.edit().push_back({.level = cpuset::Level::Core, .id = 99, .cpus = CpuSet{7, 8}});
  fixture.transaction->repair();
  CHECK(cpu_warnings(fixture.state()) ==
        std::vector<std::string>{"cpu.pools: pool fast: its CPU 7 shares a core with CPU 8 of pool common"});
}

}  // namespace nrd::cpu_pool_config_test
