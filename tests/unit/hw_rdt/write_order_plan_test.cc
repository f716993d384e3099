// Changes from plan to plan: however classes come, go and stay, no two that run CPUs share a way in between.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "hw/rdt/write_order.h"
#include "tests/unit/fault_points.h"

namespace nrd::rdt::write_order_plan_test {
namespace {

// What a planner asks for on a node of two caches with eight CPUs each: a class with CPUs on a cache has a run there
// that it shares with no class, every other class has all ways, and the root class has the longest run that is left.
constexpr unsigned kWays = 11;
constexpr uint32_t kCaches = 2;
constexpr uint32_t kClasses = 5;
constexpr uint32_t kCpusOfCache = 8;
constexpr ClosId kRoot{0};

CacheId cache_of(CpuId cpu) { return CacheId{3, cpu.value / kCpusOfCache}; }

class Planner {
 public:
  Planner(unsigned seed, unsigned min_ways) : random_(seed), min_ways_(min_ways) {}

  Observed any() {
    Observed node;
    for (uint32_t cache = 0; cache < kCaches; ++cache) plan(node, CacheId{3, cache}, some_classes({}));
    return node;
  }

  // Some classes come, some go, and each that stays keeps a legal mask's worth of its ways.
  Observed after(const Observed& before) {
    Observed node;
    for (uint32_t number = 0; number < kCaches; ++number) {
      const CacheId cache{3, number};
      const std::vector<ClosId> used = some_classes(used_on(before, cache));
      Observed tried;
      int attempts = 0;
      do {
        tried = node;
        plan(tried, cache, ++attempts < 1000 ? used : std::vector<ClosId>());
      } while (!all_keep_some(before, tried, cache));
      node = tried;
    }
    return node;
  }

 private:
  unsigned up_to(unsigned last) { return std::uniform_int_distribution<unsigned>(0, last)(random_); }

  static std::vector<ClosId> used_on(const Observed& node, CacheId cache) {
    std::vector<ClosId> used;
    for (const auto& [clos, group] : node.classes) {
      if (clos != kRoot && group.ways.at(cache) != WayMask::all(kWays)) used.push_back(clos);
    }
    return used;
  }

  // Of four classes each with one in two, and of those in `stay` with three in four.
  std::vector<ClosId> some_classes(const std::vector<ClosId>& stay) {
    std::vector<ClosId> used;
    for (uint32_t number = 1; number < kClasses; ++number) {
      const bool was = std::find(stay.begin(), stay.end(), ClosId{number}) != stay.end();
      if (up_to(3) >= (was ? 1U : 2U)) used.push_back(ClosId{number});
    }
    return used;
  }

  bool all_keep_some(const Observed& before, const Observed& now, CacheId cache) const {
    const std::vector<ClosId> used = used_on(now, cache);
    return std::all_of(used.begin(), used.end(), [&](ClosId clos) {
      return (before.classes.at(clos).ways.at(cache) & now.classes.at(clos).ways.at(cache)).count() >= min_ways_;
    });
  }

  void plan(Observed& node, CacheId cache, std::vector<ClosId> used) {
    std::shuffle(used.begin(), used.end(), random_);
    for (uint32_t number = 0; number < kClasses; ++number)
      node.classes[ClosId{number}].ways[cache] = WayMask::all(kWays);
    unsigned way = min_ways_ + up_to(3);
    WayMask left = WayMask::all(kWays);
    std::vector<ClosId> homes;
    for (const ClosId clos : used) {
      const unsigned count = min_ways_ + up_to(3);
      if (way + count > kWays) break;
      node.classes[clos].ways[cache] = WayMask::run(way, count);
      left = left - WayMask::run(way, count);
      way += count + up_to(1);
      homes.push_back(clos);
    }
    node.classes[kRoot].ways[cache] = left.longest_run();
    const size_t busy = homes.size();
    homes.push_back(kRoot);
    std::vector<uint32_t> cpus(kCpusOfCache);
    for (uint32_t i = 0; i < kCpusOfCache; ++i) cpus[i] = cache.value * kCpusOfCache + i;
    std::shuffle(cpus.begin(), cpus.end(), random_);
    for (size_t i = 0; i < cpus.size(); ++i) {
      const ClosId home = i < busy ? homes[i] : homes[up_to(static_cast<unsigned>(busy))];
      node.classes[home].cpus.add(CpuId{cpus[i]});
    }
  }

  std::mt19937 random_;
  unsigned min_ways_;
};

Setting all_of(const Observed& node) {
  Setting setting;
  for (const auto& [clos, group] : node.classes) {
    setting.ways[clos] = group.ways;
    for (const CpuId cpu : group.cpus.members()) setting.cpus[cpu] = clos;
  }
  return setting;
}

bool runs_on(const Class& group, CacheId cache) {
  const std::vector<CpuId> cpus = group.cpus.members();
  return std::any_of(cpus.begin(), cpus.end(), [&](CpuId cpu) { return cache_of(cpu) == cache; });
}

// Does what the kernel does, after a look at whether the write is one that may be made. Empty: it is.
std::string apply(Observed& node, const Write& write, const Observed& before, const Observed& after,
                  unsigned min_ways) {
  if (const auto* move = std::get_if<CpusWrite>(&write)) {
    for (const CpuId cpu : move->cpus.members()) {
      const ClosId from = node.class_of(cpu).value();
      if (from == move->clos) return "a CPU is written that is there already";
      if (move->clos != kRoot && move->clos != after.class_of(cpu)) return "a CPU visits a strange class";
      node.classes.at(from).cpus.remove(cpu);
      node.classes.at(move->clos).cpus.add(cpu);
    }
    return move->cpus.empty() ? "a write moves no CPU" : "";
  }
  const auto& mask = std::get<WaysWrite>(write);
  const WayMask was = before.classes.at(mask.clos).ways.at(mask.cache);
  const WayMask goal = after.classes.at(mask.clos).ways.at(mask.cache);
  WayMask& now = node.classes.at(mask.clos).ways.at(mask.cache);
  if (was == goal) return "a mask is written that does not differ";
  if (now == mask.ways) return "a mask is written that is there already";
  if (!mask.ways.is_contiguous() || mask.ways.count() < min_ways) return "a mask is not legal";
  if (!(was | goal).contains(mask.ways)) return "a mask has ways of neither before nor after";
  now = mask.ways;
  return {};
}

// Two classes that run CPUs on a cache have no way of it in common.
std::string shared_way(const Observed& node) {
  for (uint32_t number = 0; number < kCaches; ++number) {
    const CacheId cache{3, number};
    WayMask taken;
    for (const auto& [clos, group] : node.classes) {
      if (!runs_on(group, cache)) continue;
      if (group.ways.at(cache).intersects(taken)) {
        return "COS" + std::to_string(clos.value) + " shares ways of cache " + std::to_string(number);
      }
      taken = taken | group.ways.at(cache);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("from plan to plan no two classes that run CPUs ever share a way") {
  const unsigned rounds = testing::often(5'000U);
  for (const unsigned min_ways : {1U, 2U}) {
    Planner planner(22 + min_ways, min_ways);
    unsigned changes = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      const Observed before = planner.any();
      const Observed after = planner.after(before);
      REQUIRE(shared_way(before) == "");
      Observed now = before;
      int step = 0;
      for (const Write& write : write_order(before, all_of(after), {{3, {.min_ways = min_ways}}})) {
        INFO("min_ways " << min_ways << ", round " << round << ", write " << ++step);
        REQUIRE(apply(now, write, before, after, min_ways) == "");
        REQUIRE(shared_way(now) == "");
        ++changes;
      }
      INFO("min_ways " << min_ways << ", round " << round);
      REQUIRE((now == after));
    }
    CHECK(changes > 4 * rounds);  // the planner does plan something
  }
}

TEST_CASE("a plan that already holds needs no write") {
  Planner planner(24, 1);
  for (int round = 0; round < 1'000; ++round) {
    const Observed node = planner.any();
    REQUIRE(write_order(node, all_of(node), {}).empty());
  }
}

}  // namespace nrd::rdt::write_order_plan_test
