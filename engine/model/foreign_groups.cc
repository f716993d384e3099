#include "engine/model/foreign_groups.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

std::set<ClosId> classes_of(const Workloads& workloads) {
  std::set<ClosId> classes;
  for (const auto& [id, workload] : workloads) {
    if (workload.grant.has_class()) classes.insert(workload.grant.clos);
  }
  return classes;
}

std::set<ClosId> our_classes(const NodeState& state) {
  std::set<ClosId> ours = classes_of(state.workloads);
  ours.insert(state.made_groups.begin(), state.made_groups.end());
  ours.insert(kRootClass);
  return ours;
}

WayMask ways_of(const rdt::Class& group, CacheId cache) {
  const WayMask* ways = find_in(group.ways, cache);
  return ways ? *ways : WayMask();
}

bool is_new_mask(const NodeState& state, CacheId cache, WayMask ways) {
  return ways == all_ways(state, cache) || (!ways.empty() && ways == new_group_ways(state, cache));
}

bool constrains(const NodeState& state, const rdt::Class& group, CacheId cache) {
  const WayMask ways = ways_of(group, cache);
  return group.mode != rdt::GroupMode::Shareable || group.split.contains(cache) || !is_new_mask(state, cache, ways);
}

bool is_leftover(const NodeState& state, const rdt::Class& group) {
  const bool is_empty = group.cpus.empty() && !group.has_tasks() && !group.has_monitoring_groups;
  if (!is_empty || !group.is_readable) return false;
  const auto& mba = state.facts.rdt.capabilities.mba_info;
  const bool is_limited =
      std::ranges::any_of(group.bandwidth, [&mba](const auto& limit) { return mba && limit.second < mba->most; });
  return !is_limited &&
         std::ranges::none_of(group.ways, [&](const auto& entry) { return constrains(state, group, entry.first); });
}

// A pseudo-locked region has released its class.
bool holds_class(const rdt::Class& group) { return group.mode != rdt::GroupMode::PseudoLocked; }

std::vector<std::string> holders(const NodeState& state) {
  std::vector<std::string> names;
  for (const auto& [name, group] : foreign_groups(state)) {
    if (holds_class(*group)) names.push_back(name);
  }
  return names;
}

bool fills(const NodeState& state, const rdt::Class& group, CacheId cache, WayMask ways) {
  const rdt::Node& node = state.facts.rdt;
  if (!group.has_tasks() && !(node.has(cache) && group.cpus.intersects(node.cpus_of(cache)))) return false;
  return ways_of(group, cache).intersects(ways);
}

// The classes that `workloads` and the infrastructure use.
size_t classes_needed(const NodeState& state, const Workloads& workloads) {
  std::set<ClosId> classes = classes_of(workloads);
  if (is_reserved_for_infra(state, kInfraClass)) classes.insert(kInfraClass);
  return classes.size();
}

Failure no_class(const NodeState& state, const Workloads& workloads) {
  constexpr size_t kMostNamed = 8;
  const std::vector<std::string> foreign = holders(state);
  std::string text =
      fmt::format("every class of service is in use: the node has {}, the root class is one, and nrd uses {}",
                  state.facts.rdt.main().cat->classes, classes_needed(state, workloads));
  std::string remedy = "delete a workload";
  if (!foreign.empty()) {
    text += fmt::format("; other groups hold {}: {}", foreign.size(), joined_first(kMostNamed, foreign));
    remedy += ", or remove groups that are not needed (rmdir /sys/fs/resctrl/GROUP)";
  }
  if (state.config->reserved_classes > foreign.size())
    text += fmt::format("; {} are kept free (classes.reserve)", state.config->reserved_classes - foreign.size());
  return fail_at(ErrorCode::NoClass, "/cache", text, remedy);
}

bool exists(const NodeState& state, ClosId clos) { return state.observed.rdt.classes.contains(clos); }

bool is_kernel_full(const NodeState& state) {
  size_t groups = state.observed.rdt.classes.size();
  for (const auto& [name, group] : state.observed.rdt.foreign) groups += holds_class(group) ? 1U : 0U;
  return groups >= state.facts.rdt.main().cat->classes;
}

}  // namespace

bool is_class_of_ours(const NodeState& state, ClosId clos) { return our_classes(state).contains(clos); }

std::set<std::string> group_names(const rdt::Observed& observed) {
  std::set<std::string> names;
  for (const auto& [name, group] : observed.foreign) names.insert(name);
  for (const auto& [clos, group] : observed.classes) {
    if (clos != kRootClass) names.insert(text_of(clos));
  }
  return names;
}

std::map<std::string, const rdt::Class*> foreign_groups(const NodeState& state) {
  std::map<std::string, const rdt::Class*> foreign;
  const std::set<ClosId> ours = our_classes(state);
  for (const auto& [name, group] : state.observed.rdt.foreign) foreign[name] = &group;
  for (const auto& [clos, group] : state.observed.rdt.classes) {
    if (!ours.contains(clos) && !is_leftover(state, group)) foreign[text_of(clos)] = &group;
  }
  return foreign;
}

std::set<ClosId> leftover_groups(const NodeState& state) {
  std::set<ClosId> found;
  const std::set<ClosId> ours = our_classes(state);
  for (const auto& [clos, group] : state.observed.rdt.classes) {
    if (!ours.contains(clos) && is_leftover(state, group)) found.insert(clos);
  }
  return found;
}

WayMask foreign_ways(const NodeState& state, CacheId cache) {
  WayMask held;
  for (const auto& [name, group] : foreign_groups(state)) {
    if (constrains(state, *group, cache)) held = held | ways_of(*group, cache);
  }
  return held;
}

WayMask locked_ways(const NodeState& state, CacheId cache) {
  WayMask locked;
  const auto add = [&](const rdt::Class& group) {
    const bool is_lock = group.mode == rdt::GroupMode::Exclusive || group.mode == rdt::GroupMode::PseudoLocked;
    if (is_lock) locked = locked | ways_of(group, cache);
  };
  for (const auto& [name, group] : state.observed.rdt.foreign) add(group);
  for (const auto& [clos, group] : state.observed.rdt.classes) add(group);
  return locked;
}

// As rdtgroup_init_cat() of the kernel computes it.
WayMask new_group_ways(const NodeState& state, CacheId cache) {
  return (all_ways(state, cache) - locked_ways(state, cache)).lowest_run();
}

std::set<std::string> sharing_groups(const NodeState& state, CacheId cache, WayMask ways, Unreadable unreadable) {
  std::set<std::string> names;
  for (const auto& [name, group] : foreign_groups(state)) {
    const bool is_unknown = !group->is_readable && unreadable == Unreadable::Included;
    if (is_unknown || fills(state, *group, cache, ways)) names.insert(name);
  }
  return names;
}

std::set<std::string> sharing_groups(const NodeState& state, const Workload& workload) {
  std::set<std::string> names;
  for (const auto& [cache, ways] : workload.grant.ways) {
    if (workload.grant.pool == Pool::Shared && state.facts.rdt.is_main(cache)) continue;
    names.merge(sharing_groups(state, cache, ways, Unreadable::Included));
  }
  return names;
}

bool is_exclusive(const NodeState& state, const Workload& workload) {
  return workload.grant.has_class() && workload.grant.pool != Pool::Shared && sharing_groups(state, workload).empty();
}

bool is_class_available(const NodeState& state, ClosId clos) {
  if (clos.value >= state.facts.rdt.main().cat->classes) return false;
  if (!exists(state, clos)) return !is_kernel_full(state);
  return our_classes(state).contains(clos) || is_leftover(state, state.observed.rdt.classes.at(clos));
}

Result<ClosId> choose_class(const NodeState& state, const Workloads& workloads) {
  const std::set<ClosId> used = classes_of(workloads);
  const unsigned classes = state.facts.rdt.main().cat->classes;
  const size_t left_to_others = std::max<size_t>(state.config->reserved_classes, holders(state).size());
  if (classes_needed(state, workloads) + left_to_others + 1 >= classes) return no_class(state, workloads);
  for (unsigned i = 2; i < classes + 1; ++i) {
    const ClosId clos{i < classes ? i : 1};
    if (!used.contains(clos) && !is_reserved_for_infra(state, clos) && is_class_available(state, clos)) return clos;
  }
  return no_class(state, workloads);
}

unsigned used_classes(const NodeState& state) {
  if (!state.facts.rdt.main().cat) return 0;
  const size_t used = 1 + classes_needed(state, state.workloads) + holders(state).size();
  return std::min(state.facts.rdt.main().cat->classes, static_cast<unsigned>(used));
}

std::string how_to_free(const std::string& group) {
  return fmt::format("to remove a leftover group: rmdir '/sys/fs/resctrl/{}'", group);
}

std::string held_by_others(const NodeState& state, CacheId cache, WayMask wanted) {
  const WayMask held = foreign_ways(state, cache) & wanted;
  if (held.empty()) return "";
  std::string group;
  for (const auto& [name, observed] : foreign_groups(state)) {
    if (ways_of(*observed, cache).intersects(held)) group = name;
  }
  return fmt::format("; groups that nrd does not own hold {}{} of the pool (GET /v1/node); {}", held.count(),
                     held.count() == 1 ? " way" : " ways", how_to_free(group));
}

}  // namespace nrd
