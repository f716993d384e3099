// How long it takes to plan a request for CPUs, in memory: a node with many CPUs and workloads, and one request after
// the other on it, in CPU time. Built with the release preset: ninja nrd_bench_placement && bench/nrd_bench_placement.
// The exit status is not 0 if a target is missed.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/plan/cpus/select.h"
#include "engine/plan/grant.h"

namespace {

using namespace nrd;

// Targets, for 1,024 CPUs with as many workloads as fit, at most 1,000.
constexpr uint32_t kTargetCpus = 1024;
constexpr double kRequestTarget = 1000;  // microseconds, p99
constexpr double kSelectTarget = 100;

constexpr uint32_t kMostRequested = 8;

using Threads = CpuPool::Threads;
using Order = CpuPool::Order;

struct Size {
  uint32_t packages, l3s, cores, threads;  // each per what is above it
  uint32_t workloads;
  uint32_t all_cores() const { return packages * l3s * cores; }
  uint32_t cpus() const { return all_cores() * threads; }
};

std::vector<cpuset::Zone> zones_of(const Size& size) {
  std::vector<cpuset::Zone> zones;
  const uint32_t all_cores = size.all_cores();
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

NodeState node_of(const Size& size, Threads threads, Order order) {
  NodeState state;
  state.facts.rdt.possible = state.facts.rdt.online = CpuSet::first(size.cpus());
  state.facts.cpuset.zones = zones_of(size);
  state.cpu_zones = std::make_shared<const plan::ZoneTree>(state.facts.cpuset.zones, state.facts.rdt.online);
  NodeConfig config;
  // Without the first core.
  config.cpu_pools = {{.name = "fast",
                       .cpus = CpuSet::first(size.cpus()) - CpuSet{0, size.all_cores()},
                       .kind = CpuPool::Kind::Exclusive,
                       .threads = threads,
                       .order = order}};
  state.config = std::make_shared<const NodeConfig>(std::move(config));
  return state;
}

Spec a_request(CpuRequest request, const Size& size) {
  Spec spec;
  spec.cpu = std::move(request);
  spec.cpu->pool = "fast";
  spec.cpu->near = {"node:1"};
  const uint32_t half = size.all_cores();
  CpuSet near;
  near.add(CpuId{half / 2}, CpuId{half - 1});
  spec.near_cpus = {near};
  return spec;
}

// `number` CPUs, or cores where the pool grants no less.
Spec a_request(uint32_t number, Threads threads, const Size& size) {
  return a_request(threads == Threads::All ? CpuRequest{.cores = number} : CpuRequest{.count = number}, size);
}

// True if the figure is within `target`, which is for one size of node.
bool report(const char* what, const Size& size, size_t workloads, std::vector<double> microseconds, double target) {
  std::ranges::sort(microseconds);
  const double p99 = microseconds[microseconds.size() * 99 / 100];
  const bool has_target = target > 0 && size.cpus() == kTargetCpus;
  const bool is_met = !has_target || p99 <= target;
  std::printf("%5u CPUs, %4zu workloads, %-22s median %8.1f us, p99 %8.1f us", size.cpus(), workloads, what,
              microseconds[microseconds.size() / 2], p99);
  if (has_target) std::printf(", target %6.1f us%s", target, is_met ? "" : ": MISSED");
  std::printf("\n");
  return is_met;
}

// CPU time of this thread, in microseconds: planning never waits, and a busy host makes it wait for a CPU.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

template <typename Act>
std::vector<double> times_of(uint32_t rounds, Act act) {
  std::vector<double> times;
  for (uint32_t i = 0; i < rounds; ++i) {
    const double begun = now();
    act(i);
    times.push_back(now() - begun);
  }
  return times;
}

// As many workloads as the size has, with room left for one more request; false: one of them is refused.
bool fill(NodeState& state, const Size& size, Threads threads) {
  const uint32_t slots = threads == Threads::Any ? size.cpus() - size.threads : size.all_cores() - 1;
  for (uint32_t i = 1; i <= std::min(size.workloads, slots - kMostRequested); ++i) {
    const auto planned = plan::create(state, WorkloadId{i}, a_request(1, threads, size), {});
    if (!planned) return false;
    state.workloads = *planned;
  }
  return true;
}

// Requests for 1 to 8 CPUs or cores, all granted, on a node in use.
bool measure_requests(const char* what, const Size& size, Threads threads, Order order) {
  NodeState state = node_of(size, threads, order);
  if (!fill(state, size, threads)) return false;
  bool is_granted = true;
  const std::vector<double> times = times_of(1000, [&](uint32_t i) {
    const Spec spec = a_request(1 + i % kMostRequested, threads, size);
    is_granted &= plan::create(state, WorkloadId{size.workloads + 1}, spec, {}).has_value();
  });
  return report(what, size, state.workloads.size(), times, kRequestTarget) && is_granted;
}

// One that asks for more than is free: the refusal says what would fit.
bool measure_refusal(const Size& size) {
  NodeState state = node_of(size, Threads::Any, Order::Pack);
  if (!fill(state, size, Threads::Any)) return false;
  const uint32_t free = size.cpus() - size.threads - static_cast<uint32_t>(state.workloads.size());
  bool is_refused = true;
  const std::vector<double> times = times_of(1000, [&](uint32_t i) {
    const Spec spec = a_request(free + 1 + i % kMostRequested, Threads::Any, size);
    const auto planned = plan::create(state, WorkloadId{size.workloads + 1}, spec, {});
    is_refused &= !planned && planned.error().code == ErrorCode::NotEnough;
  });
  return report("a refusal", size, state.workloads.size(), times, kRequestTarget) && is_refused;
}

// The choice of CPUs alone, in the whole machine, every third CPU of which is free.
bool measure_select(const char* what, const Size& size, Order order) {
  const plan::ZoneTree tree(zones_of(size), CpuSet::first(size.cpus()));
  std::vector<uint32_t> free(tree.size(), 0);
  for (size_t i = 0; i < free.size(); i += 3) free[i] = 1;
  std::vector<uint32_t> near(free);
  std::fill(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(near.size() / 2), 0);
  const plan::Selection selection{
      .tree = tree, .usable = plan::Counts(free), .preferred = {plan::Counts(near)}, .order = order};
  bool is_whole = true;
  const std::vector<double> times = times_of(1000, [&](uint32_t i) {
    const uint32_t number = 1 + i % kMostRequested;
    is_whole &= plan::select(selection, 0, number).size() == number;
  });
  return report(what, size, 0, times, kSelectTarget) && is_whole;
}

bool measure(const Size& size) {
  bool is_met = measure_select("select, pack", size, Order::Pack);
  is_met &= measure_select("select, spread", size, Order::Spread);
  is_met &= measure_requests("a request, any", size, Threads::Any, Order::Pack);
  is_met &= measure_requests("a request, one", size, Threads::One, Order::Pack);
  is_met &= measure_requests("a request, all", size, Threads::All, Order::Pack);
  is_met &= measure_requests("a request, spread", size, Threads::Any, Order::Spread);
  is_met &= measure_refusal(size);
  const std::vector<cpuset::Zone> zones = zones_of(size);
  const CpuSet online = CpuSet::first(size.cpus());
  report("the tree of zones", size, 0, times_of(20, [&](uint32_t) { plan::ZoneTree(zones, online); }), 0);
  return is_met;
}

}  // namespace

int main() {
  bool is_met = true;
  for (const Size& size :
       {Size{2, 1, 8, 2, 10}, Size{2, 4, 8, 2, 1000}, Size{2, 8, 32, 2, 1000}, Size{8, 8, 64, 2, 1000}})
    is_met &= measure(size);
  return is_met ? 0 : 1;
}
