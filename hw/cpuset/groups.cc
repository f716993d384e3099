#include "hw/cpuset/groups.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/find_in.h"
#include "base/number.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/controller.h"
#include "hw/cpuset/kernel_facts.h"
#include "hw/cpuset/types.h"

namespace nrd::cpuset {
namespace {

Result<std::set<Task>> tasks_in(const std::string& cgroup) {
  std::set<Task> tasks;
  for (const pid_t process : processes_in(cgroup, kMostProcesses)) {
    const std::optional<FoundTask> found = TRY(find_task(process));
    if (found) tasks.insert(found->task);
  }
  return tasks;
}

// Kept while there is no process. 0: the cgroup has ended.
Result<uint64_t> usage_of(const std::string& cgroup) {
  constexpr std::string_view kKey = "usage_usec ";  // on the first line
  const std::string text = TRY(text_of_file(cgroup, "cpu.stat")).value_or("");
  if (!text.starts_with(kKey)) return 0;
  return parse_number<uint64_t>(std::string_view(text).substr(0, text.find('\n')).substr(kKey.size())).value_or(0);
}

// nullopt: it does not run.
Result<std::optional<CpuSet>> effective_of(const Unit& unit) {
  return unit.cgroup.empty() ? Result<std::optional<CpuSet>>(std::nullopt) : effective_cpus(unit.cgroup);
}

Result<CpuSet> cpus_above(const Unit& unit) {
  if (unit.cgroup.empty()) return cpus_of_slice(unit.slice);
  const std::optional<CpuSet> cpus = TRY(effective_cpus(parent_of(unit.cgroup)));
  return cpus.value_or(CpuSet());
}

bool has(const Unit& unit, const std::optional<CpuSet>& effective, const Groups::Limit& limit) {
  return unit.allowed == limit.own && effective.value_or(limit.effective) == limit.effective;
}

// What remains of a list of before, which may name CPUs that are offline or that the parent does not have: the kernel
// gives all of the parent's if none remains.
Groups::Limit limit_within(const CpuSet& own, const CpuSet& above) {
  const CpuSet left = own & above;
  return {.own = own, .effective = left.empty() ? above : left};
}

// All that the parent has, CPUs that come online later included. Where the parent lacks CPUs, a partition may have
// them, and a list that names these invalidates it.
Result<Groups::Limit> all_of(const CpuSet& above) {
  return Groups::Limit{.own = above == online_cpus() ? TRY(possible_cpus()) : above, .effective = above};
}

}  // namespace

Result<std::optional<Groups::Seen>> Groups::observe(const Target& target, Deadline deadline) {
  return target.kind == Target::Kind::Cgroup ? observe_cgroup(target, deadline) : observe_unit(target, deadline);
}

void Groups::forget_others(const std::set<Target>& targets) {
  keep_only(known_units_, targets);
  keep_only(known_managers_, targets);
}

std::string Groups::known_cgroup(const Target& target) const {
  if (target.kind == Target::Kind::Cgroup) return target.name;
  const std::optional<Unit>* known = find_in(known_units_, target.name);
  return known && *known ? (*known)->cgroup : std::string();
}

// As last known while systemd does not answer: the files tell the rest. Of a slice that runs they tell all that matters
// once it is known; asking each time would cost every request some milliseconds.
Result<std::optional<Unit>> Groups::find_unit(const std::string& name, Deadline deadline) {
  const std::optional<Unit>* known = find_in(known_units_, name);
  if (known && *known && !(*known)->cgroup.empty() && !is_unit_name(name)) {
    const std::optional<CpuSet> cpus = TRY(effective_cpus((*known)->cgroup));
    if (cpus) return *known;
  }
  const Result<std::optional<Unit>> found = units_.find(name, deadline);
  if (!found) return known ? Result<std::optional<Unit>>(*known) : found;
  known_units_[name] = *found;
  return found;
}

Result<std::optional<Groups::Seen>> Groups::observe_unit(const Target& target, Deadline deadline) {
  if (!Units::is_booted()) return std::nullopt;
  const std::optional<Unit> unit = TRY(find_unit(target.name, deadline));
  if (!unit) return std::nullopt;
  const bool runs = !unit->cgroup.empty();
  Seen seen;
  seen.group.unit = unit->name;
  seen.group.cgroup = unit->cgroup;
  seen.group.parent = unit->slice;
  seen.group.available = TRY(cpus_above(*unit));
  seen.masks.own = unit->allowed;
  seen.masks.cpus = unit->allowed.empty() ? seen.group.available : unit->allowed;
  if (!runs) return seen;
  seen.masks.cpus = TRY(effective_cpus(unit->cgroup)).value_or(seen.masks.cpus);
  if (target.kind != Target::Kind::Unit) return seen;
  seen.group.processes = TRY(tasks_in(unit->cgroup));
  seen.group.usage_us = TRY(usage_of(unit->cgroup));
  seen.masks.inner = inner_cpus(unit->cgroup);
  return seen;
}

Result<std::optional<Groups::Seen>> Groups::observe_cgroup(const Target& target, Deadline deadline) {
  if (!is_cgroup_path(target.name)) return std::nullopt;
  const std::optional<CpuSet> effective = TRY(cpus_of_processes(target.name));
  if (!effective) return std::nullopt;
  const std::optional<CpuSet> own = TRY(own_cpus(target.name));
  Seen seen;
  seen.masks = {.cpus = *effective, .exceptions = {}, .own = own.value_or(CpuSet())};
  seen.group.cgroup = target.name;
  seen.group.parent = parent_of(target.name);
  seen.group.available = TRY(cpus_of_processes(seen.group.parent)).value_or(CpuSet());
  seen.group.has_controller = own.has_value();
  const std::optional<std::string> weight = TRY(text_of_file(target.name, "cpu.weight"));
  seen.group.has_shares = weight.has_value();
  const Result<std::string> manager = manager_of(target.name, deadline);
  if (manager) known_managers_[target.name] = *manager;
  if (!manager && !known_managers_.contains(target.name)) return Failure(manager.error());
  seen.group.managed_by = known_managers_[target.name];
  seen.group.processes = TRY(tasks_in(target.name));
  seen.group.usage_us = TRY(usage_of(target.name));
  seen.masks.inner = inner_cpus(target.name);
  return seen;
}

// Empty: systemd leaves the cgroup alone.
Result<std::string> Groups::manager_of(const std::string& cgroup, Deadline deadline) {
  if (!Units::is_booted()) return std::string();
  const std::string name = TRY(units_.unit_of(cgroup, deadline));
  const bool is_own = cgroup.ends_with("/" + name);
  if (name.ends_with(".slice")) return is_own ? name : std::string();
  if (is_own || !is_unit_name(name)) return name;
  const std::optional<Unit> unit = TRY(units_.find(name, deadline));
  return unit && !unit->is_delegated ? name : std::string();
}

Result<void> Groups::limit(const Target& target, const CpuSet& cpus, Deadline deadline) {
  return target.kind == Target::Kind::Cgroup ? limit_cgroup(target, cpus) : limit_unit(target, cpus, deadline);
}

Result<void> Groups::limit_unit(const Target& target, const CpuSet& cpus, Deadline deadline) {
  const std::optional<Unit> unit = TRY(units_.find(target.name, deadline));
  if (!unit) return {};
  const Limit wanted{.own = cpus, .effective = cpus};
  const std::optional<CpuSet> effective = TRY(effective_of(*unit));
  if (has(*unit, effective, wanted)) return {};
  // Slices are limited to CPUs that are not isolated.
  if (const std::string why = why_not_enabled(); !why.empty() && !confines(target))
    return fail(ErrorCode::Unsupported, fmt::format("the CPUs of {} cannot be limited: {}", target.name, why));
  TRY(enable_controller(units_, unit->slice, deadline));
  TRY(set_unit(target, *unit, wanted, deadline));
  return effective && target.kind == Target::Kind::Unit ? check_inner(unit->cgroup, cpus) : Result<void>();
}

Result<void> Groups::set_unit(const Target& target, const Unit& unit, const Limit& limit, Deadline deadline) {
  const std::optional<CpuSet> effective = TRY(effective_of(unit));
  if (has(unit, effective, limit)) return {};
  const PinnedThreads masks = TRY(kept_masks(unit.cgroup, effective.value_or(CpuSet())));
  const Result<void> set = units_.set_allowed_cpus(target.name, limit.own, deadline);
  masks.restore_within(limit.effective);
  if (!set && !is_done_unconfirmed(set, unit.cgroup, limit.effective)) return set;
  if (const auto known = known_units_.find(target.name); known != known_units_.end() && known->second)
    known->second->allowed = limit.own;
  return unit.cgroup.empty() ? Result<void>() : check_effective(target.name, unit.cgroup, limit.effective);
}

Result<void> Groups::limit_cgroup(const Target& target, const CpuSet& cpus) {
  const bool is_new = TRY(own_cpus(target.name)) != cpus;
  TRY(set_cgroup(target, {.own = cpus, .effective = cpus}));
  return is_new ? check_inner(target.name, cpus) : Result<void>();
}

Result<void> Groups::set_cgroup(const Target& target, const Limit& limit) {
  const std::optional<CpuSet> effective = TRY(effective_cpus(target.name));
  if (!effective) return {};
  if (TRY(own_cpus(target.name)) != limit.own) {
    const PinnedThreads masks = TRY(kept_masks(target.name, *effective));
    TRY(set_own_cpus(target.name, limit.own));
    masks.restore_within(limit.effective);
  }
  return check_effective(target.name, target.name, limit.effective);
}

Result<void> Groups::release(const Target& target, const Masks& before, Deadline deadline) {
  return target.kind == Target::Kind::Cgroup ? release_cgroup(target, before.own)
                                             : release_unit(target, before.own, deadline);
}

Result<void> Groups::release_unit(const Target& target, const CpuSet& own, Deadline deadline) {
  known_units_.erase(target.name);
  const std::optional<Unit> unit = TRY(units_.find(target.name, deadline));
  if (!unit) return {};
  const CpuSet all = TRY(cpus_above(*unit));
  if (!own.empty()) return set_unit(target, *unit, limit_within(own, all), deadline);
  if (has(*unit, TRY(effective_of(*unit)), {.own = {}, .effective = all})) return {};
  // Clearing alone would have no effect on a unit that runs (systemd issue 43846).
  TRY(set_unit(target, *unit, TRY(all_of(all)), deadline));
  return units_.set_allowed_cpus(target.name, {}, deadline);
}

Result<void> Groups::release_cgroup(const Target& target, const CpuSet& own) {
  const std::optional<CpuSet> all = TRY(effective_cpus(parent_of(target.name)));
  if (!all) return {};
  if (!own.empty()) return set_cgroup(target, limit_within(own, *all));
  TRY(set_cgroup(target, TRY(all_of(*all))));
  // Empty again where the kernel lets: without processes.
  [[maybe_unused]] const Result<void> cleared = set_own_cpus(target.name, {});
  return {};
}

}  // namespace nrd::cpuset
