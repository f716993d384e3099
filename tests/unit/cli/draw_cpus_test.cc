#include "cli/draw_cpus.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::draw_cpus_test {
namespace {

json::Value parsed(const char* text) { return json::parse(text).value(); }

}  // namespace

TEST_CASE("each CPU is drawn in its core, by pool and workload") {
  const json::Value cpus = parsed(R"({"zones": [
      {"level": "package", "id": 0, "cpus": "0-7"}, {"level": "node", "id": 0, "cpus": "0-7"},
      {"level": "l3", "id": 0, "cpus": "0-3"}, {"level": "l3", "id": 4, "cpus": "4-7"},
      {"level": "core", "id": 0, "cpus": "0-1"}, {"level": "core", "id": 1, "cpus": "2-3"},
      {"level": "core", "id": 2, "cpus": "4-5"}], "cpus": [
      {"cpu": 0, "use": "other", "pool": null, "workload": null}, {"cpu": 1, "use": "offline", "pool": null, "workload": null},
      {"cpu": 2, "use": "exclusive", "pool": "fast", "workload": "feed"}, {"cpu": 3, "use": "idle_sibling", "pool": "fast", "workload": null},
      {"cpu": 4, "use": "shared", "pool": "common", "workload": null}, {"cpu": 5, "use": "free", "pool": "fast", "workload": null},
      {"cpu": 6, "use": "exclusive", "pool": null, "workload": "9"}, {"cpu": 7, "use": "other", "pool": null, "workload": null}]})");
  const json::Value pools = parsed(R"([{"name": "fast", "kind": "exclusive", "cpus": "2-3,5", "free": ""},
      {"name": "common", "kind": "shared", "cpus": "4", "free": "4"}])");
  const json::Value workloads = parsed(R"([
      {"id": "feed", "name": "f", "cpu": {"pool": "fast", "cpus": "2", "reason": "nearest to eth1"}},
      {"id": "9", "core_ids": ["6"]}, {"id": "10", "core_ids": []}])");
  CHECK(cli::draw_cpus({cpus, pools, workloads}, cli::Colour::No) ==
        "package 0, node 0, L3 0\n"
        "       0  ox A-\n"
        "package 0, node 0, L3 4\n"
        "       4  S. B o\n"
        "\n"
        "  A  workload feed (f): CPUs 2 of pool fast, nearest to eth1\n"
        "  B  workload 9: CPUs 6\n"
        "  o  no pool   .  free in a pool   -  idle sibling   S  shared pool   x  offline\n"
        "  pool fast: exclusive, CPUs 2-3,5, free none\n"
        "  pool common: shared, CPUs 4\n");
}

TEST_CASE("CPUs that a server makes up are no end of nrdctl") {
  const json::Value cpus =
      parsed(R"({"zones": [], "cpus": [{"cpu": 0, "use": "exclusive"}, {"cpu": 8192, "use": "free"},
      {"cpu": 4294967296, "use": "free"}, {"use": "free"}]})");
  const json::Value none = parsed("[]");
  CHECK(cli::draw_cpus({cpus, none, none}, cli::Colour::No).starts_with("CPUs\n       0  ?\n"));
}

TEST_CASE("a conflict is a line with its remedy below the pools") {
  const json::Value cpus = parsed(R"({"zones": [], "cpus": [{"cpu": 0, "use": "other"}], "conflicts": [
      {"source": "irqbalance", "name": "irqbalance", "cpus": "4", "text": "irqbalance moves interrupts", "remedy": "ban them"}]})");
  const json::Value none = parsed("[]");
  const json::Value pools = parsed(R"([{"name": "common", "kind": "shared", "cpus": "4", "free": "4"}])");
  CHECK(cli::draw_cpus({cpus, pools, none}, cli::Colour::No)
            .ends_with("  pool common: shared, CPUs 4\n"
                       "  ! irqbalance moves interrupts\n"
                       "      ban them\n"));
}

TEST_CASE("a machine without zones is drawn CPU by CPU, and many CPUs in several lines") {
  std::string list;
  for (int cpu = 0; cpu < 30; ++cpu) {
    list += std::string(cpu == 0 ? "" : ",") + R"({"cpu": )" + std::to_string(cpu) + R"(, "use": "other"})";
  }
  const json::Value cpus = parsed((R"({"zones": [], "cpus": [)" + list + "]}").c_str());
  const json::Value none = parsed("[]");
  const std::string drawn = cli::draw_cpus({cpus, none, none}, cli::Colour::No);
  CHECK(drawn.starts_with("CPUs\n       0  o o o"));
  CHECK(drawn.find("\n      24  o o o o o o\n") != std::string::npos);
}

TEST_CASE("a check is a list of what was found, each with its remedy") {
  CHECK(cli::draw_check(parsed(R"({"pool": "fast", "cpus": "2-7", "disturbances": [
          {"source": "tick", "name": null, "cpus": "2-3", "text": "the tick interrupts", "remedy": "nohz_full=2-3"}]})")) ==
        "pool fast, CPUs 2-7\n"
        "  tick, CPUs 2-3: the tick interrupts\n"
        "      nohz_full=2-3\n");
  CHECK(cli::draw_check(parsed(R"({"pool": "fast", "cpus": "2-7", "disturbances": []})")) ==
        "pool fast, CPUs 2-7\n  nothing found\n");
}

TEST_CASE("members of a shared pool are listed below it") {
  const json::Value cpus =
      parsed(R"({"zones": [], "cpus": [{"cpu": 4, "use": "shared", "pool": "common", "workload": null}]})");
  const json::Value pools =
      parsed(R"([{"name": "common", "kind": "shared", "cpus": "4", "free": "4", "workloads": ["3", "db"]},
      {"name": "fast", "kind": "exclusive", "cpus": "5", "free": "", "workloads": ["7"]}])");
  const json::Value workloads = parsed(R"([{"id": "3", "name": "feed", "cpu": {"pool": "common", "cpus": "4"}},
      {"id": "db", "cpu": {"pool": "common", "cpus": "4"}}])");
  CHECK(cli::draw_cpus({cpus, pools, workloads}, cli::Colour::No)
            .ends_with("  pool common: shared, CPUs 4\n"
                       "      workload 3 (feed)\n"
                       "      workload db\n"
                       "  pool fast: exclusive, CPUs 5, free none\n"));
}

TEST_CASE("workloads have colours, neighbours different ones, and free CPUs none") {
  const json::Value cpus = parsed(R"({"zones": [], "cpus": [
      {"cpu": 0, "use": "other"}, {"cpu": 1, "use": "exclusive", "workload": "1"}, {"cpu": 2, "use": "exclusive", "workload": "2"},
      {"cpu": 3, "use": "idle_sibling"}, {"cpu": 4, "use": "free"}, {"cpu": 5, "use": "offline"}]})");
  const json::Value none = parsed("[]");
  const json::Value workloads = parsed(R"([{"id": "1", "cpu": {"pool": "fast", "cpus": "1"}}])");
  const std::string drawn = cli::draw_cpus({cpus, none, workloads}, cli::Colour::Yes);
  CHECK(drawn.starts_with("CPUs\n       0  \x1b[37mo\x1b[0m \x1b[36mA\x1b[0m \x1b[31mB\x1b[0m \x1b[37m-\x1b[0m . x\n"));
  CHECK(drawn.find("  \x1b[36mA\x1b[0m  workload 1: ") != std::string::npos);
  const std::string plain = cli::draw_cpus({cpus, none, workloads}, cli::Colour::No);
  CHECK(plain.find('\x1b') == std::string::npos);
}

}  // namespace nrd::draw_cpus_test
