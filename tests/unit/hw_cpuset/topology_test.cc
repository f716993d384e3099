// The zones of this host: whatever they are, they fit together.
#include "hw/cpuset/topology.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>

using namespace nrd;
using cpuset::Level;
using cpuset::Zone;

TEST_CASE("zones are ordered, and each online CPU is in one package and one core") {
  cpuset::Topology topology;
  const auto zones = topology.zones();
  REQUIRE(zones);
  for (const Level level : {Level::Package, Level::Core}) {
    CpuSet all;
    for (const Zone& zone : *zones) {
      if (zone.level != level) continue;
      CHECK_FALSE(zone.cpus.empty());
      CHECK_FALSE(zone.cpus.intersects(all));
      all |= zone.cpus;
    }
    CHECK_FALSE(all.empty());
  }
  CHECK(std::ranges::is_sorted(*zones, {}, &Zone::level));
  CHECK(topology.zones() == zones);
}

TEST_CASE("reading the zones does not move this thread") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  REQUIRE(cpuset::read_zones());
  cpu_set_t after;
  REQUIRE(::sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}
