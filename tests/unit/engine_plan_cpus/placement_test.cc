#include "engine/plan/cpus/placement.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/engine_plan_cpus/machines.h"

namespace nrd::placement_test {

using cpuset::Level;
using nrd::testing::cpus_of;
using nrd::testing::Machine;
using plan::ZoneTree;
using Threads = CpuPool::Threads;
using Order = CpuPool::Order;

namespace {

// Two packages, each one node with two L3 of four cores with two threads: L3 0 is 0-3,16-19, node 1 is 8-15,24-31.
const ZoneTree& small() {
  static const ZoneTree tree(Machine{}.zones(), Machine{}.cpus());
  return tree;
}

struct Case {
  std::string name;
  CpuRequest request;
  std::string expected;  // CPUs or error
  std::string busy{};    // CPUs of others
  CpuPool pool{};        // without CPUs: of the whole machine, with these threads
  std::string current{};
  std::vector<std::string> near{};                           // CPUs
  std::vector<std::pair<std::string, std::string>> apart{};  // workload and CPUs
  std::string reason{};
  std::string zone{};
};

CpuPool a_pool(Threads threads, Order order = Order::Pack, Level within = Level::Node, bool never = false) {
  return {.name = "fast",
          .cpus = Machine{}.cpus(),
          .threads = threads,
          .order = order,
          .within = within,
          .never_crosses = never};
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CpuPool pool = c.pool;
    if (pool.cpus.empty()) pool = a_pool(pool.threads);
    plan::Situation situation{
        .tree = small(), .pool = pool, .free = pool.cpus - cpus_of(c.busy), .current = cpus_of(c.current)};
    for (const std::string& cpus : c.near) situation.near.push_back(cpus_of(cpus));
    for (const auto& [workload, cpus] : c.apart) situation.apart.push_back({workload, cpus_of(cpus)});
    const Result<CpuGrant> grant = plan::place(situation, c.request);
    CHECK(testing::text_of(grant) == c.expected);
    if (grant && !c.reason.empty()) CHECK(grant->reason == c.reason);
    if (grant && !c.zone.empty()) CHECK(grant->zone == c.zone);
  }
}

}  // namespace

TEST_CASE("the smallest zone that fits, and there the CPUs that leave the most whole") {
  const CpuPool any = a_pool(Threads::Any);
  check({
      {.name = "in an L3 that is partly used",
       .request = {.count = 3},
       .expected = "1-3 idle 17-19",
       .busy = "0",
       .reason = "smallest remainder in an L3",
       .zone = "node 0, l3 0"},
      {.name = "in the node with less left, when L3s are equal",
       .request = {.count = 1},
       .expected = "12 idle 28",
       .busy = "8-11",
       .zone = "node 1, l3 3, core 12"},
      {.name = "more than an L3: a whole one and the rest",
       .request = {.count = 6},
       .expected = "0-5 idle 16-21",
       .zone = "node 0"},
      {.name = "the rest where it fits best", .request = {.count = 5}, .expected = "0-4 idle 16-20"},
      {.name = "a core, and the free thread of another",
       .request = {.count = 3},
       .expected = "1,16-17",
       .busy = "0,20",
       .pool = any},
      {.name = "one thread: of a core that is used already",
       .request = {.count = 1},
       .expected = "26",
       .busy = "10",
       .pool = any,
       .reason = "smallest remainder in a core"},
  });
}

TEST_CASE("threads of a core") {
  const CpuPool all = a_pool(Threads::All);
  check({
      {.name = "one: a core with a busy thread is not usable",
       .request = {.count = 4},
       .expected = "4-7 idle 20-23",
       .busy = "16"},
      {.name = "one: whole cores have no idle siblings",
       .request = {.cores = 2},
       .expected = "2-3,18-19",
       .busy = "0,17"},
      {.name = "all: whole cores", .request = {.count = 4}, .expected = "1-2,17-18", .busy = "0", .pool = all},
      {.name = "all: not half a core",
       .request = {.count = 3},
       .expected = "BadRequest /cpu/count: pool \"fast\" grants whole cores, of 2 CPUs each; they cannot give 3 CPUs "
                   "(2 or 4)",
       .pool = all},
      {.name = "all: cores", .request = {.cores = 9}, .expected = "0-8,16-24", .pool = all, .zone = "machine"},
  });
}

TEST_CASE("a pool crosses its level only for what fits no zone of it") {
  const CpuPool never = a_pool(Threads::One, Order::Pack, Level::Node, true);
  const CpuPool l3 = a_pool(Threads::One, Order::Pack, Level::L3, true);
  check({
      {.name = "crosses", .request = {.count = 9}, .expected = "1,8-15 idle 17,24-31", .busy = "0", .zone = "machine"},
      {.name = "rather crosses an L3", .request = {.count = 5}, .expected = "1,4-7 idle 17,20-23", .busy = "0,8"},
      {.name = "never, now",
       .request = {.count = 7},
       .expected = "NotEnough /cpu/count: needs 7 CPUs within one node; node 0 has 6 free, all nodes 12 (at most 6)",
       .busy = "0,1,8,10",
       .pool = never},
      {.name = "never at all",
       .request = {.count = 9},
       .expected = "BadRequest /cpu/count: needs 9 CPUs within one node, and pool \"fast\" has at most 8; node 1 has 8 "
                   "free, all nodes 15 (at most 8)",
       .busy = "0",
       .pool = never},
      {.name = "an L3",
       .request = {.count = 5},
       .expected = "BadRequest /cpu/count: needs 5 CPUs within one l3, and pool \"fast\" has at most 4; l3 1 has 4 "
                   "free, all l3 15 (at most 4)",
       .busy = "0",
       .pool = l3},
      {.name = "less than the pool has",
       .request = {.count = 16},
       .expected = "NotEnough /cpu/count: needs 16 CPUs; pool \"fast\" has 15 free (at most 15)",
       .busy = "0"},
      {.name = "cores",
       .request = {.cores = 15},
       .expected = "NotEnough /cpu/cores: needs 15 cores; pool \"fast\" has 12 free (at most 12)",
       .busy = "0-3"},
  });
}

TEST_CASE("near devices") {
  const std::string node1 = "8-15,24-31";
  check({
      {.name = "preferred, then by the list of the pool",
       .request = {.count = 3, .near = {"eth1"}},
       .expected = "9-11 idle 25-27",
       .busy = "0,8",
       .near = {node1},
       .reason = "nearest to eth1; then smallest remainder in an L3"},
      {.name = "the first one most",
       .request = {.count = 1, .near = {"eth0", "eth1"}},
       .expected = "0 idle 16",
       .near = {"0-7,16-23", node1}},
      {.name = "as near as possible",
       .request = {.count = 2, .near = {"cpu:8"}},
       .expected = "12-13 idle 28-29",
       .busy = "8-11",
       .near = {"8-11,24-27"}},
      {.name = "elsewhere when it does not fit",
       .request = {.count = 6, .near = {"eth1"}},
       .expected = "0-5 idle 16-21",
       .busy = "8-11",
       .near = {node1}},
      {.name = "strict",
       .request = {.count = 6, .near = {"node:1"}, .strict = true},
       .expected = "NotEnough /cpu/count: needs 6 CPUs within one node; node 1 has 4 free, all nodes 12; fits with "
                   "\"strict\": false (at most 4)",
       .busy = "8-11",
       .near = {node1}},
      {.name = "strict, of a machine",
       .request = {.count = 16, .near = {"sda"}, .strict = true},
       .expected = "NotEnough /cpu/count: needs 16 CPUs near sda; 11 of 11 free ones are there (at most 11)",
       .busy = "0,8-11",
       .near = {"0-31"}},
      {.name = "strictly near two at once",
       .request = {.count = 1, .near = {"eth0", "eth1"}, .strict = true},
       .expected = "BadRequest /cpu/near: pool \"fast\" has no CPUs near eth0 and eth1",
       .near = {"0-7", node1}},
  });
}

TEST_CASE("apart from other workloads") {
  const CpuPool any = a_pool(Threads::Any);
  check({
      {.name = "not on its core",
       .request = {.count = 1, .apart = {"7"}},
       .expected = "1",
       .busy = "0",
       .pool = any,
       .apart = {{"7", "0"}}},
      {.name = "not on its L3",
       .request = {.count = 2, .apart = {"7"}, .level = Level::L3},
       .expected = "4,20",
       .busy = "0",
       .pool = any,
       .apart = {{"7", "0"}}},
      {.name = "not on its node",
       .request = {.count = 2, .apart = {"7"}, .level = Level::Node},
       .expected = "8,24",
       .busy = "0",
       .pool = any,
       .apart = {{"7", "0"}}},
      {.name = "none left",
       .request = {.count = 2, .apart = {"7"}, .level = Level::Node},
       .expected = "NotEnough /cpu/count: needs 2 CPUs apart from 7; pool \"fast\" has 0 free; fits without \"apart\"",
       .busy = "0,8",
       .pool = any,
       .apart = {{"7", "0,8"}}},
  });
}

TEST_CASE("an order that spreads") {
  const CpuPool spread = a_pool(Threads::One, Order::Spread);
  check({
      {.name = "over the L3s of the emptier node",
       .request = {.count = 4},
       .expected = "8-9,12-13 idle 24-25,28-29",
       .busy = "0",
       .pool = spread,
       .reason = "most free CPUs in a package"},
      {.name = "over the cores of an L3",
       .request = {.count = 3},
       .expected = "0-2",
       .pool = a_pool(Threads::Any, Order::Spread, Level::L3)},
      {.name = "over packages",
       .request = {.count = 4},
       .expected = "0,4,8,12",
       .pool = a_pool(Threads::Any, Order::Spread, Level::Machine)},
  });
}

TEST_CASE("a resized workload keeps what it has") {
  const CpuPool any = a_pool(Threads::Any);
  const CpuPool never = a_pool(Threads::One, Order::Pack, Level::Node, true);
  check({
      {.name = "adds beside them",
       .request = {.count = 5},
       .expected = "4-6,20-21",
       .busy = "0",
       .pool = any,
       .current = "4,5"},
      {.name = "releases the scattered ones",
       .request = {.count = 2},
       .expected = "4,20",
       .busy = "0",
       .pool = any,
       .current = "4,5,9,20"},
      {.name = "the same again", .request = {.count = 2}, .expected = "5,9 idle 21,25", .current = "5,9"},
      {.name = "keeps a second thread", .request = {.count = 2}, .expected = "4,21 idle 5,20", .current = "21"},
      {.name = "rather crosses than moves",
       .request = {.count = 5},
       .expected = "3,5-8 idle 19,21-24",
       .busy = "0-2,4",
       .current = "3"},
      {.name = "does not move to another node",
       .request = {.count = 5},
       .expected = "NotEnough /cpu/count: needs 5 CPUs within one node; node 0 has 4 free, all nodes 12 (at most 4)",
       .busy = "0-2,4",
       .pool = never,
       .current = "3"},
      {.name = "too scattered for the pool: keeps most",
       .request = {.count = 4},
       .expected = "0-3 idle 16-19",
       .pool = never,
       .current = "1-2,9",
       .reason = "keeps most of its CPUs; then smallest zone that fits"},
  });
}

TEST_CASE("these CPUs") {
  CpuPool part = a_pool(Threads::One);
  part.cpus = cpus_of("4-15,20-31");
  const CpuPool all = a_pool(Threads::All);
  check({
      {.name = "exactly",
       .request = {.cpus = {1, 2}},
       .expected = "1-2 idle 17-18",
       .reason = "requested",
       .zone = "node 0, l3 0"},
      {.name = "outside",
       .request = {.cpus = {1, 4}},
       .expected = "BadRequest /cpu/cpus: CPU 1 is not in pool \"fast\" (CPUs of 4-15,20-31)",
       .pool = part},
      {.name = "offline",
       .request = {.cpus = {4, 40}},
       .expected = "BadRequest /cpu/cpus: CPU 40 is offline (CPUs of 4)",
       .pool = {.name = "fast", .cpus = cpus_of("4,40"), .threads = Threads::Any}},
      {.name = "taken",
       .request = {.cpus = {4, 5}},
       .expected = "CpuTaken /cpu/cpus: CPU 4 belongs to another workload (CPUs of 0-3,5-19,21-31)",
       .busy = "4"},
      {.name = "the sibling is taken",
       .request = {.cpus = {1, 2}},
       .expected = "CpuTaken /cpu/cpus: CPU 17, on the same core, belongs to another workload (CPUs of 0,2-16,18-31)",
       .busy = "17"},
      {.name = "half a core",
       .request = {.cpus = {1, 2}},
       .expected = "BadRequest /cpu/cpus: pool \"fast\" grants whole cores: these need CPU 17-18 too (1-2,17-18)",
       .pool = all},
  });
}

TEST_CASE("these CPUs, where the request or the pool forbids their place") {
  const CpuPool never = a_pool(Threads::Any, Order::Pack, Level::Node, true);
  check({
      {.name = "crossing",
       .request = {.cpus = {1, 9}},
       .expected = "BadRequest /cpu/cpus: CPU 1,9 is not within one node, which pool \"fast\" never crosses",
       .pool = never},
      {.name = "far",
       .request = {.cpus = {1, 9}, .near = {"eth1"}, .strict = true},
       .expected = "BadRequest /cpu/near: CPU 1 is not near eth1 (\"strict\": false, or CPUs near it)",
       .near = {"8-15,24-31"}},
      {.name = "not apart",
       .request = {.cpus = {1, 9}, .apart = {"web"}, .level = Level::L3},
       .expected = "Conflict /cpu/apart: CPU 1 shares an l3 with workload web",
       .busy = "0",
       .apart = {{"web", "0"}}},
  });
}

}  // namespace nrd::placement_test
