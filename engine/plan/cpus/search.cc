#include "engine/plan/cpus/search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/plan/cpus/select.h"
#include "engine/plan/cpus/slots.h"
#include "engine/plan/cpus/zone_choice.h"

namespace nrd::plan {
namespace {

using cpuset::Level;

// Whether no zone below is a better answer to "within": see ZoneTree::stays_within().
std::vector<ZoneIndex> zones_within(const Supply& supply, Level level, uint32_t number) {
  std::vector<ZoneIndex> zones;
  const std::vector<TreeZone>& all = supply.tree().zones();
  for (ZoneIndex i = 0; i < all.size(); ++i) {
    if (!supply.tree().stays_within(i, level)) continue;
    if (supply.kept().in(all[i]) == supply.kept().total() && supply.fits(all[i], number)) zones.push_back(i);
  }
  return zones;
}

std::vector<Preference> near_preferences(const Situation& situation, const CpuRequest& request) {
  std::vector<Preference> preferences;
  for (size_t i = 0; i < std::min(request.near.size(), situation.near.size()); ++i) {
    preferences.push_back({"nearest to " + request.near[i], situation.near[i]});
  }
  return preferences;
}

ChoiceFacts facts_of(const Supply& supply, const std::vector<Preference>& preferences, uint32_t number) {
  ChoiceFacts facts{.supply = supply, .number = number};
  for (const Preference& preference : preferences) {
    std::vector<uint32_t> inside(supply.tree().size(), 0);
    for (uint32_t i = 0; i < inside.size(); ++i) inside[i] = preference.cpus.contains(supply.tree().cpu_at(i)) ? 1 : 0;
    facts.online_in_preferred.emplace_back(inside);
    for (uint32_t i = 0; i < inside.size(); ++i) inside[i] *= supply.usable().at(i);
    facts.preferred.emplace_back(inside);
  }
  return facts;
}

// The slots of each class in `zone`: the kept ones and those chosen in addition, the heaviest class first, so that the
// others gather around it.
std::vector<uint32_t> select_slots(const Supply& supply, const ChoiceFacts& facts, CpuPool::Order order,
                                   ZoneIndex zone) {
  const TreeZone& in = supply.tree().zones()[zone];
  const std::vector<uint32_t> numbers = *supply.composed(in, facts.number);
  std::vector<uint32_t> taken(supply.tree().size(), 0);
  std::vector<uint32_t> positions;
  for (uint32_t i = in.first; i < in.last; ++i) {
    if (supply.kept().at(i) == 0) continue;
    taken[i] = 1;
    positions.push_back(i);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::vector<uint32_t> usable(supply.tree().size(), 0);
    for (uint32_t j = in.first; j < in.last; ++j)
      usable[j] = supply.classes()[i].usable.at(j) - supply.classes()[i].kept.at(j);
    const Selection selection{.tree = supply.tree(),
                              .usable = Counts(usable),
                              .chosen = positions.empty() ? Counts{} : Counts(taken),
                              .preferred = facts.preferred,
                              .order = order};
    for (const uint32_t position : select(selection, zone, numbers[i])) {
      taken[position] = 1;
      positions.push_back(position);
    }
  }
  return positions;
}

class Search {
 public:
  Search(const Situation& situation, const CpuRequest& request)
      : situation_(situation), request_(request), slots_(slots_of(situation, request)) {}

  std::optional<Found> find(uint32_t number) const {
    const std::vector<Preference> near = near_preferences(situation_, request_);
    const Supply all(situation_.tree, slots_, situation_.current);
    const uint32_t kept = all.kept().total();
    if (kept == 0) return find_in(all, near, number);
    if (kept >= number) {
      if (std::optional<Found> found = find_in(supply_of_kept(), near, number)) return found;
    } else if (std::optional<Found> found = find_in(all, near, number); found || !is_scattered(all)) {
      return found;
    }
    std::vector<Preference> preferences{{"keeps most of its CPUs", situation_.current}};
    preferences.insert(preferences.end(), near.begin(), near.end());
    return find_in(Supply(situation_.tree, slots_, {}), preferences, number);
  }

  Largest find_largest() const {
    Largest largest = most_usable();
    // All slots of a zone are a number that it can give. The search confirms it: what an error names must be granted.
    while (largest.number > 0 && !find(largest.number)) --largest.number;
    return largest;
  }

 private:
  Largest most_usable() const {
    const Supply all(situation_.tree, slots_, situation_.current);
    if (!situation_.pool.never_crosses) return {all.usable().total(), 0};
    const std::vector<TreeZone>& zones = situation_.tree.zones();
    const bool stays = !is_scattered(all);
    Largest largest;
    for (ZoneIndex i = 0; i < zones.size(); ++i) {
      if (!situation_.tree.stays_within(i, situation_.pool.within)) continue;
      if (stays && all.kept().in(zones[i]) != all.kept().total()) continue;
      if (all.usable().in(zones[i]) > largest.number) largest = {all.usable().in(zones[i]), i};
    }
    return largest;
  }

  // True if the CPUs that it keeps cross a level that the pool never crosses: the configuration has changed since.
  bool is_scattered(const Supply& all) const {
    if (!situation_.pool.never_crosses || all.kept().total() == 0) return false;
    uint32_t first = 0;
    while (all.kept().at(first) == 0) ++first;
    const ZoneIndex zone = situation_.tree.zone_at(first, situation_.pool.within);
    return all.kept().in(situation_.tree.zones()[zone]) != all.kept().total();
  }

  Supply supply_of_kept() const {
    std::vector<Slot> slots;
    for (const Slot& slot : slots_) {
      if (situation_.current.contains(situation_.tree.cpu_at(slot.position))) slots.push_back(slot);
    }
    return Supply(situation_.tree, slots, {});
  }

  std::optional<Found> find_in(const Supply& supply, const std::vector<Preference>& preferences,
                               uint32_t number) const {
    if (supply.usable().total() < number) return std::nullopt;
    const CpuPool& pool = situation_.pool;
    for (Level level = pool.within;; level = static_cast<Level>(static_cast<int>(level) - 1)) {
      std::vector<ZoneIndex> zones = zones_within(supply, level, number);
      if (!zones.empty()) {
        const ChoiceFacts facts = facts_of(supply, preferences, number);
        ZoneChoice choice = choose_zone(facts, std::move(zones), criteria_of(pool.order, preferences));
        return Found{cpus_at(select_slots(supply, facts, pool.order, choice.zone)), std::move(choice.reason)};
      }
      if (pool.never_crosses || level == Level::Machine) return std::nullopt;
    }
  }

  CpuSet cpus_at(const std::vector<uint32_t>& positions) const {
    const bool whole = takes_whole_cores(situation_.pool, request_);
    CpuSet cpus;
    for (const uint32_t position : positions) {
      const auto [begin, end] = whole ? situation_.tree.core_at(position) : std::pair(position, position + 1);
      for (uint32_t i = begin; i < end; ++i) cpus.add(situation_.tree.cpu_at(i));
    }
    return cpus;
  }

  const Situation& situation_;
  const CpuRequest& request_;
  std::vector<Slot> slots_;
};

}  // namespace

std::optional<Found> find(const Situation& situation, const CpuRequest& request, uint32_t number) {
  return Search(situation, request).find(number);
}

Largest find_largest(const Situation& situation, const CpuRequest& request) {
  return Search(situation, request).find_largest();
}

std::map<cpuset::Level, uint32_t> largest_requests(const ZoneTree& tree, const CpuPool& pool, const CpuSet& free) {
  const Situation situation{.tree = tree, .pool = pool, .free = free};
  const Supply supply(tree, slots_of(situation, {.pool = pool.name, .count = 1}), {});
  std::map<cpuset::Level, uint32_t> largest;
  for (ZoneIndex i = 0; i < tree.zones().size(); ++i) {
    const TreeZone& zone = tree.zones()[i];
    if (pool.never_crosses && !tree.stays_within(i, pool.within)) continue;
    for (const ZoneLabel& label : zone.labels)
      largest[label.level] = std::max(largest[label.level], supply.usable().in(zone));
  }
  return largest;
}

}  // namespace nrd::plan
