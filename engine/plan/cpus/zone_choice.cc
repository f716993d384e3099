#include "engine/plan/cpus/zone_choice.h"

#include <algorithm>
#include <limits>

namespace nrd::plan {
namespace {

using cpuset::Level;

const TreeZone& zone_of(const ChoiceFacts& facts, ZoneIndex zone) { return facts.supply.tree().zones()[zone]; }

int64_t outside_preferred(const ChoiceFacts& facts, ZoneIndex zone, const Criterion& criterion) {
  const uint32_t inside = facts.preferred[criterion.preferred].in(zone_of(facts, zone));
  return int64_t{facts.number} - std::min(inside, facts.number);
}

// If the zone has no preferred CPU to offer: the size of the smallest zone around it that has any, used or not.
int64_t distance(const ChoiceFacts& facts, ZoneIndex zone, const Criterion& criterion) {
  if (facts.preferred[criterion.preferred].in(zone_of(facts, zone)) > 0) return 0;
  const Counts& preferred = facts.online_in_preferred[criterion.preferred];
  while (zone != 0 && preferred.in(zone_of(facts, zone)) == 0) zone = zone_of(facts, zone).parent;
  return -static_cast<int64_t>(zone_of(facts, zone).finest);
}

int64_t coarseness(const ChoiceFacts& facts, ZoneIndex zone, const Criterion&) {
  return -static_cast<int64_t>(zone_of(facts, zone).finest);
}

int64_t fineness(const ChoiceFacts& facts, ZoneIndex zone, const Criterion&) {
  return static_cast<int64_t>(zone_of(facts, zone).level);
}

// Usable CPUs in the zone of the criterion's level around `zone`. Candidates coarser than the level are not compared.
int64_t usable_around(const ChoiceFacts& facts, ZoneIndex zone, const Criterion& criterion) {
  if (criterion.level > zone_of(facts, zone).finest) return 0;
  const ZoneIndex around = facts.supply.tree().around(zone, criterion.level);
  return facts.supply.usable().in(zone_of(facts, around));
}

int64_t used_around(const ChoiceFacts& facts, ZoneIndex zone, const Criterion& criterion) {
  return -usable_around(facts, zone, criterion);
}

int64_t lowest_cpu(const ChoiceFacts& facts, ZoneIndex zone, const Criterion&) {
  return facts.supply.tree().cpu_at(zone_of(facts, zone).first).value;
}

const std::vector<Criterion>& pack() {
  static const std::vector<Criterion> criteria{
      {.name = "smallest zone that fits", .cost = coarseness},
      {.name = "smallest remainder in a core", .cost = usable_around, .level = Level::Core},
      {.name = "smallest remainder in an L2", .cost = usable_around, .level = Level::L2},
      {.name = "smallest remainder in an L3", .cost = usable_around, .level = Level::L3},
      {.name = "smallest remainder in a node", .cost = usable_around, .level = Level::Node},
      {.name = "smallest remainder in a die", .cost = usable_around, .level = Level::Die},
      {.name = "smallest remainder in a package", .cost = usable_around, .level = Level::Package},
      {.name = "lowest CPU numbers", .cost = lowest_cpu},
  };
  return criteria;
}

const std::vector<Criterion>& spread() {
  static const std::vector<Criterion> criteria{
      {.name = "largest zone to spread over", .cost = fineness},
      {.name = "most free CPUs in a package", .cost = used_around, .level = Level::Package},
      {.name = "most free CPUs in a die", .cost = used_around, .level = Level::Die},
      {.name = "most free CPUs in a node", .cost = used_around, .level = Level::Node},
      {.name = "most free CPUs in an L3", .cost = used_around, .level = Level::L3},
      {.name = "most free CPUs in an L2", .cost = used_around, .level = Level::L2},
      {.name = "most free CPUs in a core", .cost = used_around, .level = Level::Core},
      {.name = "lowest CPU numbers", .cost = lowest_cpu},
  };
  return criteria;
}

// Leaves those of least cost; false if that is all of them.
bool narrow(const ChoiceFacts& facts, std::vector<ZoneIndex>& candidates, const Criterion& criterion) {
  int64_t least = std::numeric_limits<int64_t>::max();
  std::vector<ZoneIndex> best;
  for (const ZoneIndex zone : candidates) {
    const int64_t cost = criterion.cost(facts, zone, criterion);
    if (cost > least) continue;
    if (cost < least) best.clear();
    least = cost;
    best.push_back(zone);
  }
  const bool narrowed = best.size() < candidates.size();
  candidates = std::move(best);
  return narrowed;
}

}  // namespace

std::vector<Criterion> criteria_of(CpuPool::Order order, const std::vector<Preference>& preferences) {
  std::vector<Criterion> criteria;
  for (size_t i = 0; i < preferences.size(); ++i) {
    criteria.push_back({.name = preferences[i].name, .cost = outside_preferred, .preferred = i, .is_requested = true});
  }
  for (size_t i = 0; i < preferences.size(); ++i) {
    criteria.push_back({.name = preferences[i].name, .cost = distance, .preferred = i, .is_requested = true});
  }
  const std::vector<Criterion>& of_order = order == CpuPool::Order::Pack ? pack() : spread();
  criteria.insert(criteria.end(), of_order.begin(), of_order.end());
  return criteria;
}

ZoneChoice choose_zone(const ChoiceFacts& facts, std::vector<ZoneIndex> candidates,
                       const std::vector<Criterion>& criteria) {
  if (candidates.size() == 1) return {candidates.front(), "only zone that fits"};
  std::vector<std::string_view> requested;
  const Criterion* last = nullptr;
  for (const Criterion& criterion : criteria) {
    if (candidates.size() == 1) break;
    if (!narrow(facts, candidates, criterion)) continue;
    last = &criterion;
    const bool is_named = !requested.empty() && requested.back() == criterion.name;
    if (criterion.is_requested && !is_named) requested.push_back(criterion.name);
  }
  std::string reason;
  const auto add = [&reason](std::string_view name) { reason.append(reason.empty() ? "" : "; then ").append(name); };
  for (const std::string_view name : requested) add(name);
  if (last != nullptr && !last->is_requested) add(last->name);
  return {candidates.front(), reason};
}

}  // namespace nrd::plan
