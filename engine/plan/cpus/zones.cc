#include "engine/plan/cpus/zones.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "engine/model/workload_fields.h"

namespace nrd::plan {
namespace {

using cpuset::Level;

constexpr uint32_t kOffline = std::numeric_limits<uint32_t>::max();
constexpr size_t kLevels = static_cast<size_t>(Level::Core) + 1;

// A zone as reported: its online CPUs in ascending order. Without an id: not reported.
struct Reported {
  Level level = Level::Machine;
  std::vector<uint32_t> cpus{};
  std::optional<uint32_t> id{};
  friend auto operator<=>(const Reported&, const Reported&) = default;
};

// A zone of the tree in the making.
struct Draft {
  Level level = Level::Machine;
  Level finest = Level::Machine;
  std::vector<ZoneLabel> labels{};
  std::vector<uint32_t> cpus{};
  std::vector<uint32_t> children{};
};

// Adds level by level, from the coarsest. Each step costs as much as the zones of the level have CPUs, whatever they
// are below: a machine may have thousands of cores in one zone.
class Builder {
 public:
  Builder(const std::vector<cpuset::Zone>& zones, const CpuSet& online) {
    for (const CpuId cpu : online.members()) online_.push_back(cpu.value);
    const size_t numbers = online_.empty() ? 0 : online_.back() + size_t{1};
    deepest_.assign(numbers, 0);
    core_of_.assign(numbers, kOffline);
    drafts_.push_back({.labels = {{Level::Machine, 0}}, .cpus = online_});
    sort_out(zones, online);
    fix_cores();
    for (Level level = Level::Package; level < Level::Core; level = next(level)) add_level(level);
    add_level(Level::Core);
  }

  std::vector<Draft>& drafts() { return drafts_; }

 private:
  static Level next(Level level) { return static_cast<Level>(static_cast<int>(level) + 1); }
  std::vector<Reported>& of(Level level) { return reported_[static_cast<size_t>(level)]; }

  // In an order that depends on the zones alone.
  void sort_out(const std::vector<cpuset::Zone>& zones, const CpuSet& online) {
    for (const cpuset::Zone& zone : zones) {
      Reported reported{.level = zone.level, .id = zone.id};
      for (const CpuId cpu : zone.cpus.members()) {
        if (online.contains(cpu)) reported.cpus.push_back(cpu.value);
      }
      if (!reported.cpus.empty()) of(zone.level).push_back(std::move(reported));
    }
    for (auto& level : reported_) std::sort(level.begin(), level.end());
  }

  // Cores come first: virtual machines report threads of one core in different nodes, and then the core is what counts.
  // A CPU in no core is a core of its own.
  void fix_cores() {
    std::vector<Reported> cores;
    const auto add = [this, &cores](Reported core) {
      for (const uint32_t cpu : core.cpus) core_of_[cpu] = static_cast<uint32_t>(cores.size());
      cores.push_back(std::move(core));
    };
    for (Reported& core : of(Level::Core)) {
      const bool overlaps =
          std::any_of(core.cpus.begin(), core.cpus.end(), [this](uint32_t cpu) { return core_of_[cpu] != kOffline; });
      if (!overlaps) add(std::move(core));
    }
    for (const uint32_t cpu : online_) {
      if (core_of_[cpu] == kOffline) add({.level = Level::Core, .cpus = {cpu}});
    }
    for (const Reported& core : cores) threads_.push_back(core.cpus.size());
    seen_.assign(cores.size(), 0);
    std::sort(cores.begin(), cores.end());
    of(Level::Core) = std::move(cores);
  }

  bool splits_a_core(const std::vector<uint32_t>& cpus) {
    bool splits = false;
    for (const uint32_t cpu : cpus) ++seen_[core_of_[cpu]];
    for (const uint32_t cpu : cpus) splits |= seen_[core_of_[cpu]] != threads_[core_of_[cpu]];
    for (const uint32_t cpu : cpus) seen_[core_of_[cpu]] = 0;
    return splits;
  }

  void add_level(Level level) {
    std::vector<uint32_t> parents;
    for (Reported& zone : of(level)) {
      const uint32_t parent = deepest_[zone.cpus.front()];
      const bool nests = std::all_of(zone.cpus.begin(), zone.cpus.end(),
                                     [this, parent](uint32_t cpu) { return deepest_[cpu] == parent; });
      // As fine already: it overlaps another zone of its own level.
      if (!nests || drafts_[parent].finest >= level || splits_a_core(zone.cpus)) continue;
      if (zone.cpus.size() == drafts_[parent].cpus.size()) {
        drafts_[parent].finest = level;
        if (zone.id) drafts_[parent].labels.push_back({level, *zone.id});
      } else {
        if (drafts_[parent].children.empty()) parents.push_back(parent);
        add_child(parent, std::move(zone));
      }
    }
    for (const uint32_t parent : parents) complete(parent, level);
  }

  void add_child(uint32_t parent, Reported zone) {
    const auto index = static_cast<uint32_t>(drafts_.size());
    for (const uint32_t cpu : zone.cpus) deepest_[cpu] = index;
    drafts_[parent].children.push_back(index);
    Draft draft{.level = zone.level, .finest = zone.level, .cpus = std::move(zone.cpus)};
    if (zone.id) draft.labels.push_back({zone.level, *zone.id});
    drafts_.push_back(std::move(draft));
  }

  // A child for the CPUs of `parent` that are in no zone of `level`.
  void complete(uint32_t parent, Level level) {
    Reported rest{.level = level};
    for (const uint32_t cpu : drafts_[parent].cpus) {
      if (deepest_[cpu] == parent) rest.cpus.push_back(cpu);
    }
    if (!rest.cpus.empty()) add_child(parent, std::move(rest));
    std::vector<uint32_t>& children = drafts_[parent].children;
    std::sort(children.begin(), children.end(),
              [this](uint32_t a, uint32_t b) { return drafts_[a].cpus.front() < drafts_[b].cpus.front(); });
  }

  std::array<std::vector<Reported>, kLevels> reported_{};
  std::vector<uint32_t> online_;
  std::vector<Draft> drafts_;
  std::vector<uint32_t> deepest_;  // by CPU number: its finest draft so far
  std::vector<uint32_t> core_of_;  // by CPU number
  std::vector<size_t> threads_;    // by core
  std::vector<size_t> seen_;       // by core: scratch of splits_a_core()
};

}  // namespace

ZoneTree::ZoneTree(const std::vector<cpuset::Zone>& zones, const CpuSet& online) : online_(online) {
  std::vector<Draft> drafts = Builder(zones, online).drafts();
  const std::vector<CpuId> numbers = online.members();
  positions_.assign(numbers.empty() ? 0 : numbers.back().value + size_t{1}, kOffline);
  cpus_.reserve(numbers.size());
  leaves_.reserve(numbers.size());

  const auto add = [this, &drafts](auto& self, uint32_t index, ZoneIndex parent) -> void {
    Draft& draft = drafts[index];
    const auto zone = static_cast<ZoneIndex>(zones_.size());
    zones_.push_back({.level = draft.level,
                      .finest = draft.finest,
                      .labels = std::move(draft.labels),
                      .parent = parent,
                      .first = size()});
    for (const uint32_t child : draft.children) self(self, child, zone);
    if (draft.children.empty()) {
      for (const uint32_t cpu : draft.cpus) {
        positions_[cpu] = size();
        cpus_.push_back(CpuId{cpu});
        leaves_.push_back(zone);
      }
    }
    zones_[zone].last = size();
    zones_[zone].end = static_cast<ZoneIndex>(zones_.size());
  };
  add(add, 0, 0);
  // Every leaf is a core: each CPU is in one, and what adds nothing to it is the same zone.
  cores_.reserve(cpus_.size());
  for (const ZoneIndex leaf : leaves_) cores_.emplace_back(zones_[leaf].first, zones_[leaf].last);
}

std::optional<uint32_t> ZoneTree::position_of(CpuId cpu) const {
  if (cpu.value >= positions_.size() || positions_[cpu.value] == kOffline) return std::nullopt;
  return positions_[cpu.value];
}

CpuSet ZoneTree::core_of(CpuId cpu) const {
  const std::optional<uint32_t> position = position_of(cpu);
  return position ? cpus_of(leaves_[*position]) : CpuSet{};
}

bool ZoneTree::stays_within(ZoneIndex zone, Level level) const {
  return !has_children(zone) || zones_[zone + 1].level > level;
}

ZoneIndex ZoneTree::around(ZoneIndex zone, Level level) const {
  while (zones_[zone].level > level) zone = zones_[zone].parent;
  return zone;
}

ZoneIndex ZoneTree::smallest_with(const CpuSet& cpus) const {
  uint32_t first = size();
  uint32_t last = 0;
  for (const CpuId cpu : cpus.members()) {
    const std::optional<uint32_t> position = position_of(cpu);
    if (!position) continue;
    first = std::min(first, *position);
    last = std::max(last, *position + 1);
  }
  if (first >= last) return 0;
  ZoneIndex zone = leaves_[first];
  while (zones_[zone].last < last) zone = zones_[zone].parent;
  return zone;
}

CpuSet ZoneTree::cpus_of(ZoneIndex zone) const {
  CpuSet cpus;
  for (uint32_t position = zones_[zone].first; position < zones_[zone].last; ++position) cpus.add(cpus_[position]);
  return cpus;
}

std::string name_of(Level level) { return std::string(json::name_of(level)); }

namespace {

std::string text_of(const ZoneLabel& label) {
  if (label.level == Level::Machine) return name_of(label.level);
  return fmt::format("{} {}", name_of(label.level), label.id);
}

}  // namespace

std::string text_of(const ZoneTree& tree, ZoneIndex zone) {
  std::array<std::optional<ZoneLabel>, kLevels> path{};
  const auto at = [&path](Level level) -> std::optional<ZoneLabel>& { return path[static_cast<size_t>(level)]; };
  for (ZoneIndex i = zone;; i = tree.zones()[i].parent) {
    for (const ZoneLabel& label : tree.zones()[i].labels) at(label.level) = label;
    if (i == 0) break;
  }
  if (at(Level::Node)) at(Level::Package) = at(Level::Die) = std::nullopt;
  const std::vector<ZoneLabel>& own = tree.zones()[zone].labels;
  if (at(Level::L2) && (own.empty() || own.back() != *at(Level::L2))) at(Level::L2).reset();
  at(Level::Machine).reset();
  std::string text;
  for (const std::optional<ZoneLabel>& label : path) {
    if (label) text += (text.empty() ? "" : ", ") + text_of(*label);
  }
  return text.empty() ? name_of(Level::Machine) : text;
}

std::string short_text_of(const ZoneTree& tree, ZoneIndex zone, Level level) {
  const std::vector<ZoneLabel>& labels = tree.zones()[zone].labels;
  if (labels.empty()) return "the rest of " + text_of(tree, zone);
  for (const ZoneLabel& label : labels) {
    if (label.level == level) return text_of(label);
  }
  return text_of(labels.back());
}

}  // namespace nrd::plan
