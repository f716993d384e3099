#include "daemon/cpu_quota_values.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/daemon/parse_config.h"

namespace nrd::cpu_quota_values_test {

using daemon::problem_of;

namespace {

constexpr const char* kPools =
    "[[cpu.pools]]\nname = \"fast\"\ncpus = \"4-7\"\nkind = \"exclusive\"\n"
    "[[cpu.pools]]\nname = \"slow\"\ncpus = \"8-9\"\nkind = \"exclusive\"\n";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("quotas are of users and of groups") {
  const auto config = daemon::parse_config(std::string(kPools) +
                                               "[cpu.quotas]\nalice = {pools = [\"fast\", \"slow\"], count = 8}\n"
                                               "\"@quant\" = {pools = [], count = 0}\n",
                                           "nrd.toml");
  REQUIRE(config);
  CHECK(config->cpu_quotas == NamedCpuQuotas{{"@quant", {}}, {"alice", {.pools = {"fast", "slow"}, .count = 8}}});
  CHECK(daemon::check(*config));
}

TEST_CASE("no quotas and an empty table of quotas differ") {
  CHECK(daemon::parse_config(kPools, "nrd.toml")->cpu_quotas == std::nullopt);
  CHECK(daemon::parse_config("[cpu.quotas]\n", "nrd.toml")->cpu_quotas == NamedCpuQuotas{});
  CHECK(daemon::cpu_quotas().show(std::nullopt).is_null());
  CHECK(daemon::cpu_quotas().show(NamedCpuQuotas{}) == json::Value::object({}));
}

TEST_CASE("quotas are shown as they are written") {
  const NamedCpuQuotas quotas{{"@quant", {.pools = {"fast"}, .count = 8}}, {"alice", {}}};
  std::optional<NamedCpuQuotas> parsed;
  CHECK(daemon::cpu_quotas().parse(daemon::cpu_quotas().show(quotas), parsed) == "");
  CHECK(parsed == quotas);
}

TEST_CASE("wrong quotas are refused with key and line") {
  struct Row {
    std::string quotas;
    const char* problem;
  };
  for (const auto& [quotas, problem] :
       {Row{"alice = {pools = [\"fast\"]}", "alice: count is missing"},
        Row{"alice = {count = 1}", "alice: pools is missing"}, Row{"alice = 8", "alice: expected {pools"},
        Row{"alice = {pools = \"fast\", count = 1}", "alice: pools: expected"},
        Row{"alice = {pools = [1], count = 1}", "alice: pools: expected"},
        Row{"alice = {pools = [\"fast\", \"fast\"], count = 1}", "alice: pools: fast is listed twice"},
        Row{"alice = {pools = [\"fast\"], count = -1}", "alice: count: expected a whole number"},
        Row{"alice = {pools = [\"fast\"], count = 99999}", "alice: count: expected a whole number"},
        Row{"alice = {pools = [\"fast\"], count = \"8\"}", "alice: count: expected a whole number"},
        Row{"alice = {pools = [\"fast\"], count = 1, cores = 1}", "alice: unknown key cores; allowed: pools, count"},
        Row{"\"@\" = {pools = [\"fast\"], count = 1}", "expected a section"},
        Row{"alice = {pools = [\"fats\"], count = 1}", "alice: there is no pool fats in cpu.pools"}}) {
    CAPTURE(quotas);
    const std::string found = problem_of(std::string(kPools) + "[cpu.quotas]\n" + quotas + "\n");
    CHECK(has(found, problem));
    CHECK(has(found, "cpu.quotas"));
    CHECK(has(found, "nrd.toml:9"));
  }
  CHECK(has(problem_of("[cpu]\nquotas = 3\n"), "cpu.quotas: expected a section"));
  std::string many = "[cpu.quotas]\n";
  for (int i = 0; i < 1025; ++i) many += "u" + std::to_string(i) + " = {pools = [], count = 0}\n";
  CHECK(has(problem_of(many), "at most 1024"));
}

TEST_CASE("quotas are resolved on this host, without unknown users and groups") {
  const NamedCpuQuotas quotas{{"root", {.pools = {"fast"}, .count = 8}},
                              {"@root", {.pools = {"slow"}, .count = 2}},
                              {"nobody-of-this-name", {.count = 1}},
                              {"@no-group-of-this-name", {.count = 1}}};
  CHECK(daemon::resolve_quotas(quotas).value() == CpuQuotas{.users = {{0, {.pools = {"fast"}, .count = 8}}},
                                                            .groups = {{0, {.pools = {"slow"}, .count = 2}}},
                                                            .names = {{0, "root"}}});
  CHECK(daemon::resolve_quotas(std::nullopt).value() == std::nullopt);
}

}  // namespace nrd::cpu_quota_values_test
