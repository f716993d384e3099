#include "daemon/cpu_pool_values.h"

#include <doctest/doctest.h>

#include <string>

#include "base/json/reader.h"
#include "engine/model/cpu_pools.h"
#include "tests/unit/daemon/parse_config.h"

namespace nrd::cpu_pool_values_test {

using daemon::problem_of;

namespace {

constexpr const char* kFast = "[[cpu.pools]]\nname = \"fast\"\ncpus = \"4-7\"\nkind = \"exclusive\"\n";

const std::string kRest = "[[cpu.pools]]\nname = \"others\"\ncpus = \"rest\"\nkind = \"shared\"\n";

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a pool has defaults for all but name, CPUs and kind") {
  const auto config = daemon::parse_config(kFast, "nrd.toml");
  REQUIRE(config);
  REQUIRE(config->node.cpu_pools.size() == 1);
  CHECK(config->node.cpu_pools.front() == CpuPool{.name = "fast",
                                                  .cpus = CpuSet{4, 5, 6, 7},
                                                  .kind = CpuPool::Kind::Exclusive,
                                                  .threads = CpuPool::Threads::One,
                                                  .order = CpuPool::Order::Pack,
                                                  .within = cpuset::Level::Node,
                                                  .never_crosses = false});
}

TEST_CASE("a pool with all keys") {
  const auto config = daemon::parse_config(
      "[[cpu.pools]]\nname = \"a.b-c_1\"\ncpus = \"0,2-3\"\nkind = \"shared\"\nthreads = \"any\"\norder = \"spread\"\n"
      "within = \"!l3\"\n",
      "nrd.toml");
  REQUIRE(config);
  CHECK(config->node.cpu_pools.front() == CpuPool{.name = "a.b-c_1",
                                                  .cpus = CpuSet{0, 2, 3},
                                                  .kind = CpuPool::Kind::Shared,
                                                  .threads = CpuPool::Threads::Any,
                                                  .order = CpuPool::Order::Spread,
                                                  .within = cpuset::Level::L3,
                                                  .never_crosses = true});
}

TEST_CASE("a pool of isolated CPUs and one of the rest have CPUs once the node is known") {
  const auto config = daemon::parse_config(
      "[[cpu.pools]]\nname = \"fast\"\ncpus = \"isolated\"\nkind = \"exclusive\"\n" + kRest, "nrd.toml");
  REQUIRE(config);
  REQUIRE(config->node.cpu_pools.size() == 2);
  CHECK(config->node.cpu_pools.front().source == CpuPool::Source::Isolated);
  CHECK(config->node.cpu_pools.back().source == CpuPool::Source::Rest);
  CHECK(config->node.cpu_pools.back().cpus.empty());
}

TEST_CASE("a pool is shown as it is written") {
  for (const char* cpus : {"isolated", "rest", "0,2-3"}) {
    CpuPools pools;
    const auto type = daemon::cpu_pools();
    const auto written = json::parse(R"([{"name":"a","cpus":")" + std::string(cpus) + R"(","kind":"shared"}])").value();
    REQUIRE(type.parse(written, pools) == "");
    CHECK(*type.show(pools).items().front().find("cpus")->as_string() == cpus);
  }
}

TEST_CASE("the latency of idle states is unchanged, or limited to microseconds") {
  using Limit = std::optional<uint32_t>;
  for (const auto& [text, limit] : {std::pair{"-1", Limit()}, std::pair{"0", Limit(0)}, std::pair{"20", Limit(20)},
                                    std::pair{"1000000", Limit(1'000'000)}}) {
    const auto config = daemon::parse_config(std::string(kFast) + "latency_us = " + text + "\n", "nrd.toml");
    REQUIRE(config);
    CHECK(config->node.cpu_pools.front().latency_us == limit);
  }
}

TEST_CASE("pools that contradict themselves or each other are refused with key and line") {
  const std::string fast = kFast;
  struct Row {
    std::string text;
    const char* problem;
  };
  for (const auto& [text, problem] :
       {Row{"[[cpu.pools]]\ncpus = \"4\"\nkind = \"shared\"\n", "name is missing"},
        Row{"[[cpu.pools]]\nname = \"a\"\nkind = \"shared\"\n", "cpus is missing"},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"4\"\n", "kind is missing"},
        Row{"[[cpu.pools]]\nname = \"..\"\ncpus = \"4\"\nkind = \"shared\"\n", "name: expected 1 to 64 letters"},
        Row{"[[cpu.pools]]\nname = \"a b\"\ncpus = \"4\"\nkind = \"shared\"\n", "name: expected 1 to 64 letters"},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"\"\nkind = \"shared\"\n", "cpus: expected at least one CPU"},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"9-4\"\nkind = \"shared\"\n", "cpus: "},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"others\"\nkind = \"shared\"\n",
            "cpus: expected a list of CPUs in quotes, such as \"0-1,8\", or \"isolated\", or \"rest\""},
        Row{kRest + "[[cpu.pools]]\nname = \"b\"\ncpus = \"rest\"\nkind = \"shared\"\n",
            "pool b: cpus: pool others has the rest already"},
        Row{fast + "threads = \"two\"\n", "threads: expected \"one\", \"all\", \"any\""},
        Row{fast + "within = \"rack\"\n", "within: expected \"machine\""},
        Row{fast + "latency_us = -2\n", "latency_us: expected -1 or microseconds, 0 to 1000000"},
        Row{fast + "latency_us = 1000001\n", "latency_us: expected -1"},
        Row{fast + "latency_us = 2.0\n", "latency_us: expected -1"},
        Row{fast + "latency_us = \"2\"\n", "latency_us: expected -1"},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"4\"\nkind = \"shared\"\nlatency_us = 0\n",
            "latency_us: only CPUs of a pool of the kind exclusive are granted"},
        Row{fast + "low_noise = 1\n", "low_noise: expected true or false"},
        Row{fast + "size = 3\n", "unknown key size; allowed: name, cpus"},
        Row{fast + kFast, "another pool is named fast"},
        Row{fast + "[[cpu.pools]]\nname = \"b\"\ncpus = \"7-8\"\nkind = \"shared\"\n", "CPU 7 is also in pool fast"},
        Row{"[cpu]\npools = 3\n", "expected at most 64 sections"},
        Row{"[cpu]\npool = []\n", "cpu.pools"}}) {
    CAPTURE(text);
    const std::string found = problem_of(text);
    CHECK(has(found, problem));
    CHECK(has(found, "nrd.toml:"));
  }
}

TEST_CASE("a bad pool is refused with the line of its own section") {
  const std::string first = kFast;  // lines 1 to 4
  for (const auto& [text, line] :
       {std::pair{first + "size = 3\n", 1}, std::pair{first + "[[cpu.pools]]\ncpus = \"8\"\nkind = \"shared\"\n", 5},
        std::pair{first + "\n\n[[cpu.pools]]\nname = \"b\"\ncpus = \"7-8\"\nkind = \"shared\"\n", 7},
        std::pair{first + kRest + "[[cpu.pools]]\nname = \"b\"\ncpus = \"rest\"\nkind = \"shared\"\n", 9}}) {
    CAPTURE(text);
    CHECK(problem_of(text).starts_with("nrd.toml:" + std::to_string(line) + ": cpu.pools: "));
  }
}

TEST_CASE("an error of one pool that the node finds gets the line of its section") {
  daemon::LoadedConfig loaded;
  REQUIRE(daemon::parse_onto(loaded, kFast + ("\n" + kRest), "nrd.toml"));
  const auto placed = [&loaded](const char* field) {
    return daemon::with_position(loaded, {.code = ErrorCode::BadRequest, .field = field, .message = "no"}).message;
  };
  CHECK(placed("cpu.pools/0") == "nrd.toml:1: no");
  CHECK(placed("cpu.pools/1") == "nrd.toml:6: no");
  CHECK(placed("cpu.pools/2") == "nrd.toml:1: no");
  CHECK(placed("cpu.pools") == "nrd.toml:1: no");
  // A later file replaces the list, and its lines.
  REQUIRE(daemon::parse_onto(loaded, "\n" + kRest, "late.toml"));
  CHECK(placed("cpu.pools/0") == "late.toml:2: no");
}

}  // namespace nrd::cpu_pool_values_test
