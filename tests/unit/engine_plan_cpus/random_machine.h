// Machines at random: 1 to 8 packages, dies, sub-NUMA clusters, several L3, hybrid cores, nodes without CPUs, gaps in
// the numbers up to 8191, without hyperthreads, without NUMA, without L3, zones that do not nest, CPUs that are
// offline.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/cpu_set.h"
#include "hw/cpuset/types.h"
#include "tests/unit/dice.h"

namespace nrd::testing {

struct RandomMachine {
  std::vector<cpuset::Zone> zones{};
  CpuSet online{};
};

class MachineMaker {
 public:
  explicit MachineMaker(Dice& dice) : dice_(dice) {}

  RandomMachine make() {
    using cpuset::Level;
    const uint32_t size = dice_.once_in(500) ? 8 : 2;  // most are small: there are many
    const std::vector<uint32_t> packages = split(Level::Package, {0}, dice_.once_in(8) ? 8 : size);
    const std::vector<uint32_t> dies = split(Level::Die, packages, dice_.once_in(3) ? 2 : 1);
    const std::vector<uint32_t> nodes = split(Level::Node, dies, dice_.once_in(3) ? size : 1);
    const std::vector<uint32_t> l3s = split(Level::L3, nodes, dice_.once_in(2) ? size : 1);
    const bool is_hybrid = dice_.once_in(5);
    const uint32_t threads = dice_.once_in(3) ? 1 : dice_.once_in(20) ? 4 : 2;
    for (const uint32_t l3 : l3s) {
      // Beyond this size its caches have no CPUs.
      const uint32_t clusters = cpus_.size() < kMostCpus ? dice_.between(1, size) : 0;
      for (uint32_t i = 0; i < clusters; ++i) {
        const bool is_efficient = is_hybrid && dice_.once_in(2);
        const uint32_t l2 = add(Level::L2, l3);
        for (uint32_t core = 0; core < (is_efficient ? 4U : 1U); ++core) {
          const uint32_t parent = add(Level::Core, l2);
          for (uint32_t thread = 0; thread < (is_efficient ? 1 : threads); ++thread) cpus_.push_back(parent);
        }
      }
    }
    return finish();
  }

 private:
  static constexpr size_t kMostCpus = 1024;

  struct Part {
    cpuset::Level level = cpuset::Level::Machine;
    uint32_t parent = 0;
  };

  uint32_t add(cpuset::Level level, uint32_t parent) {
    parts_.push_back({level, parent});
    return static_cast<uint32_t>(parts_.size() - 1);
  }

  std::vector<uint32_t> split(cpuset::Level level, const std::vector<uint32_t>& parents, uint32_t most) {
    const uint32_t each = dice_.between(1, most);
    std::vector<uint32_t> parts;
    for (const uint32_t parent : parents) {
      for (uint32_t i = 0; i < each; ++i) parts.push_back(add(level, parent));
    }
    return parts;
  }

  // A number for each CPU: as listed, in any order, or with gaps.
  std::vector<uint32_t> numbers() {
    std::vector<uint32_t> numbers(cpus_.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    if (dice_.once_in(2)) dice_.shuffle(numbers);
    if (dice_.once_in(8)) {
      const uint32_t step = dice_.between(1, CpuSet::kMaxCpus / static_cast<uint32_t>(cpus_.size()));
      for (uint32_t& number : numbers) number = CpuSet::kMaxCpus - 1 - number * step;
    }
    return numbers;
  }

  RandomMachine finish() {
    using cpuset::Level;
    const std::vector<uint32_t> number = numbers();
    std::vector<CpuSet> sets(parts_.size());
    RandomMachine machine;
    const bool some_offline = dice_.once_in(4);
    for (size_t i = 0; i < cpus_.size(); ++i) {
      for (uint32_t part = cpus_[i]; part != 0; part = parts_[part].parent) sets[part].add(CpuId{number[i]});
      if (i == 0 || !some_offline || !dice_.once_in(4)) machine.online.add(CpuId{number[i]});
    }
    const bool no_nodes = dice_.once_in(5);
    const bool no_l3 = dice_.once_in(5);
    const bool no_cores = dice_.once_in(20);
    for (uint32_t i = 1; i < parts_.size(); ++i) {
      const Level level = parts_[i].level;
      if ((level == Level::Node && no_nodes) || (level == Level::L3 && no_l3 && !dice_.once_in(4))) continue;
      if (level == Level::Core && no_cores) continue;
      machine.zones.push_back({level, i, sets[i]});
    }
    if (dice_.once_in(10)) machine.zones.push_back({Level::Node, 1000, {}});
    if (dice_.once_in(10)) {  // overlaps whatever is there
      CpuSet any;
      for (const uint32_t cpu : number) {
        if (dice_.once_in(3)) any.add(CpuId{cpu});
      }
      machine.zones.push_back({static_cast<Level>(dice_.between(1, 6)), 2000, any});
    }
    return machine;
  }

  Dice& dice_;
  std::vector<Part> parts_{{}};   // the first is the machine
  std::vector<uint32_t> cpus_{};  // the core of each
};

}  // namespace nrd::testing
