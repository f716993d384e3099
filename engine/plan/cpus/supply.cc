#include "engine/plan/cpus/supply.h"

#include <algorithm>
#include <functional>
#include <set>

namespace nrd::plan {
namespace {

struct Shelf {
  uint32_t weight = 1;
  uint32_t left = 0;
};

// Takes exactly `number` from the shelves `from` and after, as many as possible of the first. Where each weight divides
// the one before, as on all but exotic machines, the first attempt decides.
bool take(const std::vector<Shelf>& shelves, size_t from, uint32_t number, std::vector<uint32_t>& taken) {
  if (number == 0) return true;
  if (from == shelves.size()) return false;
  uint32_t rest = 0;
  for (size_t i = from + 1; i < shelves.size(); ++i) rest += shelves[i].weight * shelves[i].left;
  const Shelf& shelf = shelves[from];
  for (uint32_t count = std::min(shelf.left, number / shelf.weight);; --count) {
    const uint32_t missing = number - count * shelf.weight;
    if (missing > rest) break;
    taken[from] = count;
    if (take(shelves, from + 1, missing, taken)) return true;
    if (count == 0) break;
  }
  taken[from] = 0;
  return false;
}

}  // namespace

Counts::Counts(const std::vector<uint32_t>& numbers) {
  sums_.reserve(numbers.size() + 1);
  uint32_t sum = 0;
  sums_.push_back(0);
  for (const uint32_t number : numbers) sums_.push_back(sum += number);
}

Supply::Supply(const ZoneTree& tree, const std::vector<Slot>& slots, const CpuSet& current) : tree_(&tree) {
  std::set<uint32_t, std::greater<>> weights;
  for (const Slot& slot : slots) weights.insert(slot.weight);
  // CPUs of all slots, or the number of slots of one weight.
  const auto count = [&](std::optional<uint32_t> only, const CpuSet* within) {
    std::vector<uint32_t> numbers(tree.size(), 0);
    for (const Slot& slot : slots) {
      if (only && slot.weight != *only) continue;
      if (within != nullptr && !within->contains(tree.cpu_at(slot.position))) continue;
      numbers[slot.position] = only ? 1 : slot.weight;
    }
    return Counts(numbers);
  };
  usable_ = count(std::nullopt, nullptr);
  kept_ = count(std::nullopt, &current);
  for (const uint32_t weight : weights) {
    const bool is_same = weight == 1 && weights.size() == 1;
    classes_.push_back({weight, is_same ? usable_ : count(weight, nullptr), is_same ? kept_ : count(weight, &current)});
  }
}

bool Supply::fits(const TreeZone& zone, uint32_t number) const {
  const uint32_t kept = kept_.in(zone);
  if (usable_.in(zone) < number || kept > number) return false;
  if (classes_.size() == 1) return (number - kept) % classes_.front().weight == 0;
  return composed(zone, number).has_value();
}

std::optional<std::vector<uint32_t>> Supply::composed(const TreeZone& zone, uint32_t number) const {
  const uint32_t kept = kept_.in(zone);
  if (usable_.in(zone) < number || kept > number) return std::nullopt;
  std::vector<Shelf> shelves;
  for (const SlotClass& slots : classes_) {
    shelves.push_back({slots.weight, slots.usable.in(zone)-slots.kept.in(zone)});
  }
  std::vector<uint32_t> taken(shelves.size(), 0);
  if (!take(shelves, 0, number - kept, taken)) return std::nullopt;
  return taken;
}

}  // namespace nrd::plan
