// What a request may take: slots, and how many of them each zone has.
//
// A slot is what is granted as one: a CPU, or a whole core. It stands at one position of the tree and yields one or
// more CPUs (its weight). A zone's slots and CPUs are counted by sums over positions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/cpus/zones.h"

namespace nrd::plan {

struct Slot {
  uint32_t position = 0;
  uint32_t weight = 1;
};

// A number for each position, and the sum of each zone.
class Counts {
 public:
  Counts() = default;
  explicit Counts(const std::vector<uint32_t>& numbers);
  bool empty() const { return sums_.empty(); }
  uint32_t at(uint32_t position) const { return sums_[position + 1] - sums_[position]; }
  uint32_t in(const TreeZone& zone) const { return sums_[zone.last] - sums_[zone.first]; }
  uint32_t total() const { return sums_.empty() ? 0 : sums_.back(); }

 private:
  std::vector<uint32_t> sums_;  // of all positions before this one
};

// Slots of one weight: those of machines with two kinds of cores differ.
struct SlotClass {
  uint32_t weight = 1;
  Counts usable{};
  Counts kept{};
};

class Supply {
 public:
  // `kept` are those of `slots` at positions of CPUs in `current`; they are taken in any case.
  Supply(const ZoneTree& tree, const std::vector<Slot>& slots, const CpuSet& current);

  const ZoneTree& tree() const { return *tree_; }
  const std::vector<SlotClass>& classes() const { return classes_; }
  const Counts& usable() const { return usable_; }  // CPUs, those of kept slots included
  const Counts& kept() const { return kept_; }

  // True if composed() has an answer.
  bool fits(const TreeZone& zone, uint32_t number) const;
  // How many slots of each class to take in `zone`, besides the kept ones there, for exactly `number` CPUs with the
  // fewest cores; nullopt: it does not have them.
  std::optional<std::vector<uint32_t>> composed(const TreeZone& zone, uint32_t number) const;

 private:
  const ZoneTree* tree_;
  std::vector<SlotClass> classes_;  // the heaviest first
  Counts usable_;
  Counts kept_;
};

}  // namespace nrd::plan
