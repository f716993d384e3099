// Modes of groups: who may share ways with whom, pseudo-locking, and the class that devices write with (io_alloc).
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "resctrl.h"

namespace nrd::simnode {
namespace {

char usage_letter(bool hardware, bool shared, bool exclusive, bool locked) {
  if (hardware) return shared ? 'X' : 'H';
  if (shared) return 'S';
  if (exclusive) return 'E';
  return locked ? 'P' : '0';
}

}  // namespace

Ways Resctrl::taken_on(int level, int cache, const Group& but, bool only_exclusive) const {
  Ways taken = 0;
  for (const auto& [name, group] : groups_) {
    if (group.is_lock() || group.closid == but.closid) continue;
    if (only_exclusive && group.mode != Mode::Exclusive) continue;
    taken |= group.masks.at(level).all_of(cache);
  }
  if (io_alloc_ && !only_exclusive && io_alloc_->closid != but.closid)
    taken |= io_alloc_->masks.at(level).all_of(cache);
  return taken;
}

Ways Resctrl::locked_on(int level, int cache) const {
  Ways locked = 0;
  for (const auto& [name, group] : groups_) {
    if (group.region && group.region->level == level && group.region->cache == cache) locked |= group.region->ways;
  }
  return locked;
}

// On this cache, or on one of another level that has CPUs in common with it.
bool Resctrl::is_locked_beside(const CacheLevel& level, int cache) const {
  const Cpus cpus = machine_.cache_cpus(level, cache);
  return std::ranges::any_of(machine_.allocated_levels(), [&](const CacheLevel& other) {
    return std::ranges::any_of(cpus, [&](int cpu) {
      const auto beside = other.cache_of(cpu);
      return beside && locked_on(other.number, *beside) != 0;
    });
  });
}

std::string Resctrl::clash(const Group& group, const CacheLevel& level, int cache, Ways ways) const {
  if (group.mode == Mode::LockSetup && is_locked_beside(level, cache)) return "Pseudo-locked region in hierarchy\n";
  if (!group.is_lock() && (ways & locked_on(level.number, cache)) != 0)
    return "CBM overlaps with pseudo-locked region\n";
  if ((ways & taken_on(level.number, cache, group, true)) != 0) return "Overlaps with exclusive group\n";
  const bool is_alone = group.mode != Mode::Shareable;
  if (is_alone && (ways & (taken_on(level.number, cache, group, false) | level.shareable)) != 0)
    return "Overlaps with other group\n";
  return "";
}

bool Resctrl::overlaps(const Group& group) const {
  for (const CacheLevel& level : machine_.allocated_levels()) {
    for (const auto& [cache, ways] : group.masks.at(level.number).ways) {
      const Ways all = group.masks.at(level.number).all_of(cache);
      if ((all & (taken_on(level.number, cache, group, false) | level.shareable)) != 0) return true;
    }
  }
  return false;
}

int Resctrl::enter_lock_setup(Group& group, bool has_monitor_groups) {
  if (group.closid == 0) return refuse(EINVAL, "Cannot pseudo-lock default group\n");
  if (std::ranges::any_of(machine_.levels(), &CacheLevel::cdp)) return refuse(EINVAL, "CDP enabled\n");
  if (!machine_.shape().pseudo_lock) return refuse(EINVAL, "Pseudo-locking not supported\n");
  if (has_monitor_groups) return refuse(EINVAL, "Monitoring in progress\n");
  if (!group.tasks.empty()) return refuse(EINVAL, "Tasks assigned to resource group\n");
  if (!group.cpus.empty()) return refuse(EINVAL, "CPUs assigned to resource group\n");
  group.mode = Mode::LockSetup;
  return 0;
}

int Resctrl::write_mode(const std::string& name, std::string_view text, bool has_monitor_groups) {
  if (text.empty() || text.back() != '\n') return EINVAL;
  status_.clear();
  text.remove_suffix(1);
  let_inherit();
  Group& group = groups_.at(name);
  if (text == mode_name(group.mode)) return 0;
  if (group.mode == Mode::Locked) return refuse(EINVAL, "Cannot change pseudo-locked group\n");
  if (text == "shareable") {
    group.mode = Mode::Shareable;
  } else if (text == "exclusive") {
    if (overlaps(group)) return refuse(EINVAL, "Schemata overlaps\n");
    group.mode = Mode::Exclusive;
  } else if (text == "pseudo-locksetup") {
    return enter_lock_setup(group, has_monitor_groups);
  } else {
    return refuse(EINVAL, "Unknown or unsupported mode\n");
  }
  return 0;
}

// Only the first cache that is named; the group gives back its class, which another may have from now.
void Resctrl::lock(Group& group, const Settings& settings) {
  for (const auto& [level, masks] : settings.masks) {
    for (const auto& [cache, ways] : masks.ways) group.region = Region{level, cache, ways};
  }
  if (!group.region) return;
  group.mode = Mode::Locked;
  group.masks.clear();
  group.bandwidth.clear();
}

std::string Resctrl::bit_usage(const MaskKind& kind) const {
  const CacheLevel& level = *kind.level;
  std::string text;
  for (const int cache : machine_.caches(level)) {
    Ways shared = 0;
    Ways exclusive = 0;
    for (const auto& [name, group] : groups_) {
      if (group.is_lock()) continue;
      (group.mode == Mode::Exclusive ? exclusive : shared) |= (group.masks.at(level.number).*kind.masks).at(cache);
    }
    const Ways devices = io_alloc_ ? (io_alloc_->masks.at(level.number).*kind.masks).at(cache) : 0;
    const Ways locked = locked_on(level.number, cache);
    text += (text.empty() ? "" : ";") + std::to_string(cache) + "=";
    for (int bit = level.ways - 1; bit >= 0; --bit) {
      const Ways way = Ways{1} << bit;
      text += usage_letter((level.shareable | devices) & way, shared & way, exclusive & way, locked & way);
    }
  }
  return text + "\n";
}

int Resctrl::write_io_alloc(const CacheLevel& level, std::string_view text) {
  status_.clear();
  const std::string_view wanted = trimmed(text);
  if (wanted != "0" && wanted != "1") return EINVAL;
  if (machine_.shape().io_alloc == IoAlloc::Absent || level.number != machine_.last_level().number)
    return refuse(ENODEV, "io_alloc is not supported on " + level.name() + "\n");
  if ((wanted == "1") == io_alloc_.has_value()) return 0;
  if (wanted == "0") {
    io_alloc_.reset();
    return 0;
  }
  const int closid = machine_.shape().closids - 1;
  const std::string number = std::to_string(closid);
  if (closid >= machine_.closids())
    return refuse(EINVAL, "io_alloc CLOSID (ctrl_hw_id) " + number + " is not available\n");
  for (const auto& [name, group] : groups_) {
    if (group.mode != Mode::Locked && group.closid == closid)
      return refuse(ENOSPC, "CLOSID (ctrl_hw_id) " + number + " for io_alloc is used by " + name + " group\n");
  }
  io_alloc_ = new_group(closid);
  return 0;
}

int Resctrl::write_io_alloc_masks(const MaskKind& kind, std::string_view text) {
  if (text.empty() || text.back() != '\n') return EINVAL;
  status_.clear();
  const std::string name = kind.level->name();
  if (machine_.shape().io_alloc == IoAlloc::Absent)
    return refuse(ENODEV, "io_alloc is not supported on " + name + "\n");
  if (!io_alloc_) return refuse(EINVAL, "io_alloc is not enabled on " + name + "\n");
  const Parsed parsed = parse_schemata(
      kind.name + ":" + std::string(text), machine_, *io_alloc_,
      [this](const CacheLevel& level, int cache, Ways ways) { return clash(*io_alloc_, level, cache, ways); });
  if (!parsed.valid) return refuse(EINVAL, parsed.status);
  apply(parsed.settings, *io_alloc_);
  return 0;
}

}  // namespace nrd::simnode
