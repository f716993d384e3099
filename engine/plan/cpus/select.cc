#include "engine/plan/cpus/select.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace nrd::plan {
namespace {

struct Child {
  ZoneIndex zone = 0;
  uint32_t usable = 0;
  uint32_t chosen = 0;
  bool idle = false;         // all of its CPUs are usable
  uint64_t preferences = 0;  // a bit for each preferred set that has a usable slot here, the highest for the first
};

// Children of equal rank compete by their slots; those of different rank do not.
auto pack_rank(const Child& child) { return std::tuple(~child.chosen, ~child.preferences); }
auto spread_rank(const Child& child) { return ~child.preferences; }

class Selector {
 public:
  explicit Selector(const Selection& selection) : from_(selection) {}

  std::vector<uint32_t> select(ZoneIndex zone, uint32_t number) {
    positions_.reserve(number);
    add(zone, number);
    return std::move(positions_);
  }

 private:
  const TreeZone& at(ZoneIndex zone) const { return from_.tree.zones()[zone]; }

  void add(ZoneIndex zone, uint32_t number) {
    if (number == 0) return;
    if (number == from_.usable.in(at(zone))) {
      add_all(zone);
    } else if (!from_.tree.has_children(zone)) {
      add_threads(zone, number);
    } else if (from_.order == CpuPool::Order::Pack) {
      pack(children(zone), number);
    } else {
      spread(children(zone), number);
    }
  }

  void add_all(ZoneIndex zone) {
    for (uint32_t position = at(zone).first; position < at(zone).last; ++position) {
      if (from_.usable.at(position) != 0) positions_.push_back(position);
    }
  }

  void add_threads(ZoneIndex core, uint32_t number) {
    std::vector<std::pair<uint64_t, uint32_t>> threads;
    for (uint32_t position = at(core).first; position < at(core).last; ++position) {
      if (from_.usable.at(position) == 0) continue;
      uint64_t preferences = 0;
      for (const Counts& preferred : from_.preferred) preferences = preferences << 1U | (preferred.at(position) != 0);
      threads.emplace_back(~preferences, position);
    }
    std::sort(threads.begin(), threads.end());
    for (uint32_t i = 0; i < number; ++i) positions_.push_back(threads[i].second);
  }

  std::vector<Child> children(ZoneIndex zone) const {
    std::vector<Child> children;
    for (ZoneIndex i = zone + 1; i < at(zone).end; i = at(i).end) {
      Child child{.zone = i, .usable = from_.usable.in(at(i))};
      if (child.usable == 0) continue;
      if (!from_.chosen.empty()) child.chosen = from_.chosen.in(at(i));
      child.idle = child.usable == at(i).last - at(i).first;
      for (const Counts& preferred : from_.preferred) {
        child.preferences = child.preferences << 1U | (preferred.in(at(i)) != 0);
      }
      children.push_back(child);
    }
    return children;
  }

  void pack(std::vector<Child> children, uint32_t missing) {
    std::stable_sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return std::tuple(pack_rank(a), !a.idle, ~a.usable) < std::tuple(pack_rank(b), !b.idle, ~b.usable);
    });
    // The most usable slots of any child from here to the end of its rank.
    std::vector<uint32_t> most(children.size());
    for (size_t i = children.size(); i-- > 0;) {
      const bool last = i + 1 == children.size() || pack_rank(children[i]) != pack_rank(children[i + 1]);
      most[i] = last ? children[i].usable : std::max(children[i].usable, most[i + 1]);
    }
    for (size_t i = 0; i < children.size() && missing > 0; ++i) {
      if (most[i] >= missing) return add(tightest(children, i, missing), missing);
      add_all(children[i].zone);
      missing -= children[i].usable;
    }
  }

  // Of the rank of children[from], the child with the fewest usable slots that has `number`.
  static ZoneIndex tightest(const std::vector<Child>& children, size_t from, uint32_t number) {
    const Child* best = nullptr;
    for (size_t i = from; i < children.size() && pack_rank(children[i]) == pack_rank(children[from]); ++i) {
      if (children[i].usable < number) continue;
      if (best == nullptr || children[i].usable < best->usable) best = &children[i];
    }
    return best->zone;
  }

  void spread(std::vector<Child> children, uint32_t missing) {
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return spread_rank(a) < spread_rank(b); });
    for (size_t first = 0; first < children.size() && missing > 0;) {
      size_t last = first;
      uint32_t usable = 0;
      for (; last < children.size() && spread_rank(children[last]) == spread_rank(children[first]); ++last) {
        usable += children[last].usable;
      }
      share({children.begin() + static_cast<ptrdiff_t>(first), children.begin() + static_cast<ptrdiff_t>(last)},
            std::min(usable, missing));
      missing -= std::min(usable, missing);
      first = last;
    }
  }

  // Slots of `children`, one each in turn.
  void share(const std::vector<Child>& children, uint32_t number) {
    std::vector<uint32_t> given(children.size(), 0);
    using Turn = std::tuple<uint32_t, uint32_t, size_t>;  // chosen, used up, index
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    for (size_t i = 0; i < children.size(); ++i) turns.emplace(children[i].chosen, ~children[i].usable, i);
    for (; number > 0; --number) {
      const size_t i = std::get<size_t>(turns.top());
      turns.pop();
      ++given[i];
      if (given[i] < children[i].usable)
        turns.emplace(children[i].chosen + given[i], ~(children[i].usable - given[i]), i);
    }
    for (size_t i = 0; i < children.size(); ++i) add(children[i].zone, given[i]);
  }

  const Selection& from_;
  std::vector<uint32_t> positions_;
};

}  // namespace

std::vector<uint32_t> select(const Selection& selection, ZoneIndex zone, uint32_t number) {
  return Selector(selection).select(zone, number);
}

}  // namespace nrd::plan
