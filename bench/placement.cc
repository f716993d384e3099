// How long it takes to plan a request for CPUs, in memory: a node with many CPUs and workloads, and one request after
// the other on it. Built with the release preset: ninja nrd_bench_placement && bench/nrd_bench_placement
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/grant.h"

namespace {

using namespace nrd;
using std::chrono::duration;
using std::chrono::steady_clock;

struct Size {
  uint32_t packages, l3s, cores, threads;  // each per what is above it
  uint32_t workloads;
  uint32_t cpus() const { return packages * l3s * cores * threads; }
};

std::vector<cpuset::Zone> zones_of(const Size& size) {
  std::vector<cpuset::Zone> zones;
  const uint32_t all_cores = size.packages * size.l3s * size.cores;
  const auto add = [&](cpuset::Level level, uint32_t number) {
    const uint32_t in_each = all_cores / number;
    for (uint32_t id = 0; id < number; ++id) {
      cpuset::Zone& zone = zones.emplace_back(cpuset::Zone{.level = level, .id = id});
      for (uint32_t thread = 0; thread < size.threads; ++thread) {
        const uint32_t first = id * in_each + thread * all_cores;
        zone.cpus.add(CpuId{first}, CpuId{first + in_each - 1});
      }
    }
  };
  add(cpuset::Level::Package, size.packages);
  add(cpuset::Level::Node, size.packages);
  add(cpuset::Level::L3, size.packages * size.l3s);
  add(cpuset::Level::Core, all_cores);
  return zones;
}

NodeState node_of(const Size& size) {
  NodeState state;
  state.facts.rdt.possible = state.facts.rdt.online = CpuSet::first(size.cpus());
  state.facts.cpuset.zones = zones_of(size);
  state.cpu_zones = std::make_shared<const plan::ZoneTree>(state.facts.cpuset.zones, state.facts.rdt.online);
  NodeConfig config;
  config.cpu_pools = {{.name = "fast",
                       .cpus = CpuSet::first(size.cpus()) - CpuSet{0},
                       .kind = CpuPool::Kind::Exclusive,
                       .threads = CpuPool::Threads::Any}};
  state.config = std::make_shared<const NodeConfig>(std::move(config));
  return state;
}

Spec a_request(uint32_t count, const Size& size) {
  Spec spec;
  spec.cpu = CpuRequest{.pool = "fast", .count = count, .near = {"node:1"}};
  const uint32_t half = size.cpus() / 2;
  CpuSet near;
  near.add(CpuId{half / 2}, CpuId{half - 1});
  spec.near_cpus = {near};
  return spec;
}

void report(const char* what, const Size& size, std::vector<double>& microseconds) {
  std::ranges::sort(microseconds);
  std::printf("%5u CPUs, %4u workloads, %-22s median %8.1f us, p99 %8.1f us\n", size.cpus(), size.workloads, what,
              microseconds[microseconds.size() / 2], microseconds[microseconds.size() * 99 / 100]);
}

template <typename Act>
std::vector<double> times_of(uint32_t rounds, Act act) {
  std::vector<double> times;
  for (uint32_t i = 0; i < rounds; ++i) {
    const auto begun = steady_clock::now();
    act(i);
    times.push_back(duration<double, std::micro>(steady_clock::now() - begun).count());
  }
  return times;
}

bool measure(const Size& size) {
  NodeState state = node_of(size);
  for (uint32_t i = 1; i <= size.workloads; ++i) {
    const auto planned = plan::create(state, WorkloadId{i}, a_request(1, size), {});
    if (!planned) return false;
    state.workloads = *planned;
  }
  bool is_granted = true;
  std::vector<double> times = times_of(1000, [&](uint32_t i) {
    is_granted &= plan::create(state, WorkloadId{size.workloads + 1}, a_request(1 + i % 8, size), {}).has_value();
  });
  report("a request", size, times);
  times = times_of(20, [&](uint32_t) { plan::ZoneTree(state.facts.cpuset.zones, state.facts.rdt.online); });
  report("the tree of zones", size, times);
  return is_granted;
}

}  // namespace

int main() {
  bool is_measured = true;
  for (const Size& size : {Size{2, 1, 8, 2, 10}, Size{2, 8, 32, 2, 1000}, Size{8, 8, 64, 2, 1000}})
    is_measured &= measure(size);
  return is_measured ? 0 : 1;
}
