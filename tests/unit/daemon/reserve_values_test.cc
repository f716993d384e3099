#include "daemon/reserve_values.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/daemon/parse_config.h"

namespace nrd::reserve_values_test {

using daemon::problem_of;

TEST_CASE("a reserve has ways, allocations of Onload and CPUs by pool, each optional") {
  const auto config = daemon::parse_config(
      "[reserve.kubernetes]\nways = 5\nonload = 50\npools = {fast = \"4-7\", common = 2}\n", "nrd.toml");
  REQUIRE(config);
  Reserve wanted{.ways = 5, .onload = 50};
  wanted.pools.emplace();
  (*wanted.pools)["fast"].listed = *CpuSet::parse("4-7");
  (*wanted.pools)["common"].of_share = 2;
  CHECK(config->kubernetes_reserve == wanted);
  CHECK(daemon::reserves_of(*config) == Reserves{{"kubernetes", wanted}});
  std::optional<Reserve> shown;
  CHECK(daemon::reserve().parse(daemon::reserve().show(wanted), shown) == "");
  CHECK(shown == wanted);
  CHECK(daemon::parse_config("[reserve.kubernetes]\n", "nrd.toml")->kubernetes_reserve == Reserve{});
  CHECK(daemon::reserves_of(*daemon::parse_config("", "nrd.toml")).empty());
}

TEST_CASE("wrong reserves and default pools are refused with their key") {
  const std::string pools =
      "[[cpu.pools]]\nname = \"fast\"\ncpus = \"4-7\"\nkind = \"exclusive\"\n"
      "[[cpu.pools]]\nname = \"common\"\ncpus = \"2-3\"\nkind = \"shared\"\n";
  struct Row {
    std::string text;
    const char* problem;
  };
  for (const auto& [text, problem] :
       {Row{"[reserve]\nother = {}\n", "unknown key reserve.other"},
        Row{"[reserve]\nkubernetes = 5\n", "reserve.kubernetes: expected {ways = 5"},
        Row{"[reserve.kubernetes]\nway = 5\n", "unknown key way; allowed: ways, onload, pools"},
        Row{"[reserve.kubernetes]\nways = 33\n", "ways: expected a whole number from 0 to 32"},
        Row{"[reserve.kubernetes]\nways = -1\n", "ways: expected a whole number from 0 to 32"},
        Row{"[reserve.kubernetes]\nonload = 1.5\n", "onload: expected a whole number"},
        Row{"[reserve.kubernetes]\nonload = 101\n", "onload: is 101, but onload.max_allocations is 100"},
        Row{"[reserve.kubernetes]\npools = [\"fast\"]\n", "pools: expected {fast"},
        Row{"[reserve.kubernetes]\npools = {fast = \"4-x\"}\n", "pools: fast: expected a list of CPUs"},
        Row{"[reserve.kubernetes]\npools = {fast = \"\"}\n", "pools: fast: expected a list of CPUs"},
        Row{"[reserve.kubernetes]\npools = {common = 0}\n", "pools: common: expected a list of CPUs"},
        Row{"[cpu]\ndefault_pool = \"fast\"\n" + pools, "fast is no shared pool"},
        Row{"[cpu]\ndefault_pool = \"x\"\n", "x is no shared pool"}}) {
    CAPTURE(text);
    const std::string found = problem_of(text);
    CHECK_MESSAGE(found.find(problem) != std::string::npos, found);
  }
}

}  // namespace nrd::reserve_values_test
