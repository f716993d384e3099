#include <doctest/doctest.h>

#include <string>

#include "daemon/config.h"
#include "engine/model/cpu_pools.h"

using namespace nrd;

namespace {

constexpr const char* kFast = "[[cpu.pools]]\nname = \"fast\"\ncpus = \"4-7\"\nkind = \"exclusive\"\n";

std::string problem_of(const std::string& text) {
  const auto config = daemon::parse_config(text, "nrd.toml");
  return config ? "" : config.error().message;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a pool has defaults for all but name, CPUs and kind") {
  const auto config = daemon::parse_config(kFast, "nrd.toml");
  REQUIRE(config);
  REQUIRE(config->cpu_pools.size() == 1);
  CHECK(config->cpu_pools.front() == CpuPool{.name = "fast",
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
  CHECK(config->cpu_pools.front() == CpuPool{.name = "a.b-c_1",
                                             .cpus = CpuSet{0, 2, 3},
                                             .kind = CpuPool::Kind::Shared,
                                             .threads = CpuPool::Threads::Any,
                                             .order = CpuPool::Order::Spread,
                                             .within = cpuset::Level::L3,
                                             .never_crosses = true});
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
        Row{"[[cpu.pools]]\nname = \"a b\"\ncpus = \"4\"\nkind = \"shared\"\n", "name: expected 1 to 64 letters"},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"\"\nkind = \"shared\"\n", "cpus: expected at least one CPU"},
        Row{"[[cpu.pools]]\nname = \"a\"\ncpus = \"9-4\"\nkind = \"shared\"\n", "cpus: "},
        Row{fast + "threads = \"two\"\n", "threads: expected \"one\", \"all\", \"any\""},
        Row{fast + "within = \"rack\"\n", "within: expected \"machine\""},
        Row{fast + "size = 3\n", "unknown key size; allowed: name, cpus"},
        Row{fast + kFast, "another pool is named fast"},
        Row{fast + "[[cpu.pools]]\nname = \"b\"\ncpus = \"7-8\"\nkind = \"shared\"\n", "CPU 7 is also in pool fast"},
        Row{"[cpu]\npools = 3\n", "expected at most 64 sections"}, Row{"[cpu]\npool = []\n", "cpu.pools"}}) {
    CAPTURE(text);
    const std::string found = problem_of(text);
    CHECK(has(found, problem));
    CHECK(has(found, "nrd.toml:"));
  }
}
