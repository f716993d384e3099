#include "hw/cpuset/cpuset.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "base/control.h"
#include "base/find_in.h"
#include "hw/cpuset/affinity.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/cgroup_walk.h"
#include "hw/cpuset/controller.h"
#include "hw/cpuset/kernel_facts.h"
#include "hw/cpuset/latency.h"
#include "hw/cpuset/partition.h"
#include "hw/cpuset/scopes.h"

namespace nrd::cpuset {
namespace {

// For an undo after systemd did not answer in time: the request has used its time already.
constexpr std::chrono::milliseconds kUndoTimeout{50};

// Of systemd, where no request waits.
constexpr std::chrono::milliseconds kBackgroundTimeout{5000};

// For a search of conflicts: some 10 ms with a thousand processes, which a request must not wait for.
constexpr std::chrono::milliseconds kSearchPatience{20};
const std::string kHost;  // the host itself

// nullopt: it has exited.
std::optional<Group> group_of(const Task& task) {
  const std::optional<CpusetPlace> place = cpuset_of(task.process).value_or(std::nullopt);
  if (!place) return std::nullopt;
  return Group{.available = place->cpus, .parent = printable_ascii(place->cgroup, kLongestName)};
}

// What a limit of `target`, whose threads may run on `masks`, would overwrite.
Result<std::vector<Pinned>> overwritten_by(const Target& target, const Masks& masks) {
  const PinnedThreads found = target.kind == Target::Kind::Partition
                                  ? TRY(PinnedThreads::find(masks.cpus))
                                  : TRY(PinnedThreads::find_in("/" + target.name, masks.cpus));
  return found.to_pinned();
}

// Targets with a cgroup, among what `changed` limits and restores.
std::set<Target> cgroup_targets(const Setting& changed) {
  std::set<Target> targets;
  const auto add = [&targets](const auto& entry) {
    if (entry.first.kind != Target::Kind::Task) targets.insert(entry.first);
  };
  std::ranges::for_each(changed.limited, add);
  std::ranges::for_each(changed.restored, add);
  return targets;
}

}  // namespace

Result<Node> Cpuset::discover() {
  Node node{.zones = topology_.zones(online_cpus()),
            .no_scopes = {},
            .no_cgroups = why_no_cpusets(),
            .no_slices = {},
            .core_kinds = read_core_kinds(""),
            .nohz_full = read_nohz_full(""),
            .free_huge_pages = read_free_huge_pages(""),
            .no_latency_limits = why_no_latency_limits(kHost)};
  node.memory_nodes = TRY(MemoryBinding::nodes());
  node.overwrites_affinity = overwrites_affinity();
  node.no_slices = node.no_cgroups.empty() ? units_.why_not(deadline_after(timeout_)) : node.no_cgroups;
  node.no_scopes = node.no_slices.empty() ? why_not_enabled() : node.no_slices;
  return node;
}

Deadline Cpuset::deadline_after(std::chrono::milliseconds timeout) const {
  const auto now = std::chrono::steady_clock::now();
  if (is_undoing_) return now + kUndoTimeout;
  return now + (left_ ? *left_ : Deadline::duration(timeout));
}

void Cpuset::spend_since(Deadline begun) {
  if (left_) *left_ = std::max(Deadline::duration(0), *left_ - (std::chrono::steady_clock::now() - begun));
}

std::chrono::milliseconds Cpuset::background_timeout() const {
  return is_silent_ ? timeout_ : std::max(timeout_, kBackgroundTimeout);
}

Result<Observed> Cpuset::observe(const Query& query) {
  const Deadline begun = std::chrono::steady_clock::now();
  const Deadline end = deadline_after(background_timeout());
  Result<Observed> observed = observe_until(query, end);
  is_silent_ = is_silent_ || std::chrono::steady_clock::now() >= end;
  spend_since(begun);
  is_undoing_ = false;
  return observed;
}

Result<Observed> Cpuset::observe_until(const Query& query, Deadline deadline) {
  Observed observed{.targets = {}, .groups = {}, .latency = observe_latency(kHost, query.latency), .noise = {}};
  for (const Target& target : query.targets) {
    std::optional<Masks> masks;
    switch (target.kind) {
      case Target::Kind::Task:
        masks = TRY(masks_of(target.task));
        if (const auto group = group_of(target.task)) observed.groups[target] = *group;
        break;
      case Target::Kind::Scope: masks = TRY(masks_of_scope(target)); break;
      case Target::Kind::Partition: masks = TRY(masks_of_partition()); break;
      case Target::Kind::Slice:
      case Target::Kind::Unit:
      case Target::Kind::Cgroup: {
        std::optional<Groups::Seen> seen = TRY(groups_.observe(target, deadline));
        if (!seen) break;
        masks = std::move(seen->masks);
        observed.groups[target] = std::move(seen->group);
      }
    }
    if (masks && query.pinned && confines(target)) masks->pinned = TRY(overwritten_by(target, *masks));
    if (masks) observed.targets[target] = *std::move(masks);
  }
  groups_.forget_others(query.targets);
  shares_.forget_others(query.shares);
  memory_.forget_others(query.memory);
  for (const Target& target : query.shares) {
    const std::optional<Share> share = TRY(shares_.observe(target, deadline));
    if (share) observed.shares[target] = *share;
  }
  for (const Target& target : query.memory) {
    const std::optional<Memory> memory = TRY(memory_.observe(target, deadline));
    if (memory) observed.memory[target] = *memory;
  }
  return observed;
}

// Where the controller is not enabled yet, enabling it overwrites masks all over the host.
Result<std::vector<Pinned>> Cpuset::pinned_by(const Setting& changed) const {
  std::vector<Pinned> found;
  const std::set<Target> targets = cgroup_targets(changed);
  if (!overwrites_affinity() || targets.empty()) return found;
  bool is_whole_host = !has_cpusets_below("/");
  for (const Target& target : targets) {
    const bool is_scope = target.kind == Target::Kind::Scope;
    const std::string cgroup = is_scope ? cgroup_of_scope(target) : groups_.known_cgroup(target);
    const std::optional<CpuSet> effective = cgroup.empty() ? std::nullopt : TRY(effective_cpus(cgroup));
    if (target.kind == Target::Kind::Partition || (!effective && !is_scope)) is_whole_host = true;
    if (is_whole_host) break;
    if (effective) {
      const PinnedThreads inside = TRY(PinnedThreads::find_in(cgroup, *effective));
      std::ranges::move(inside.to_pinned(), std::back_inserter(found));
    }
  }
  if (is_whole_host) {
    const PinnedThreads all = TRY(PinnedThreads::find_on_host());
    return all.to_pinned();
  }
  if (found.size() > kMostProcesses) found.resize(kMostProcesses);
  return found;
}

std::vector<Conflict> Cpuset::conflicts(const PoolUse& use) {
  if (use.pooled.empty()) return {};
  if (!search_.valid()) {
    search_ = std::async(std::launch::async, [use, &services = pinned_services_] {
      std::vector<Conflict> found = find_conflicts(use);
      std::ranges::move(affinity_conflicts(services.find(), use), std::back_inserter(found));
      return found;
    });
  }
  if (search_.wait_for(kSearchPatience) == std::future_status::ready) found_ = search_.get();
  return found_;
}

Result<std::map<std::string, CpuSet>> Cpuset::pinned_services() {
  if (!Units::is_booted()) return std::map<std::string, CpuSet>();
  std::map<std::string, CpuSet> found =
      TRY(units_.pinned_services(std::chrono::steady_clock::now() + kBackgroundTimeout));
  is_silent_ = false;  // it has just answered
  return found;
}

Result<void> Cpuset::converge(const Setting& wanted) {
  const Deadline begun = std::chrono::steady_clock::now();
  Result<void> done = converge_targets(wanted);
  spend_since(begun);
  is_silent_ = !done && done.error().code == ErrorCode::Busy;
  is_undoing_ = is_silent_;
  return done;
}

// If a target fails, the others are converged all the same. Confinement of the rest of the host is set last and removed
// first: a partition and slices with its CPUs exclude each other.
Result<void> Cpuset::converge_targets(const Setting& wanted) {
  const Deadline soon = deadline_after(timeout_);
  const Deadline late = deadline_after(background_timeout());
  const auto deadline_of = [soon, late](const Target& target) { return confines(target) ? late : soon; };
  Result<void> first;
  const auto note = [&first](Result<void> done) { note_failure(first, std::move(done)); };
  for (auto each = wanted.restored.rbegin(); each != wanted.restored.rend(); ++each) {
    const auto& [target, before] = *each;
    if (confines(target)) note(release(target, before, deadline_of(target)));
  }
  for (const auto& [target, own] : wanted.restored_memory) note(memory_.release(target, own, deadline_of(target)));
  note(shrink_partition(wanted.limited, late));
  // Before the controller is enabled for others, which would let services run on isolated CPUs.
  const bool is_first = !why_not_enabled().empty();
  for (const auto& [target, cpus] : wanted.limited) {
    if (is_first && confines(target)) note(limit(target, cpus, {}, late));
  }
  for (const auto& [target, cpus] : wanted.limited) {
    const MemoryNodes* nodes = find_in(wanted.memory, target);
    note(limit(target, cpus, nodes ? *nodes : MemoryNodes(), deadline_of(target)));
  }
  for (const auto& [target, nodes] : wanted.memory) note(memory_.bind(target, nodes, deadline_of(target)));
  for (const auto& [target, before] : wanted.restored) {
    if (!confines(target)) note(release(target, before, deadline_of(target)));
  }
  for (const auto& [target, share] : wanted.shares) note(shares_.set(target, share, deadline_of(target)));
  note(converge_latency(kHost, wanted.latency));
  note(noise_.restore(wanted.restored_noise));
  note(noise_.converge(wanted.noise));
  std::vector<Pinned> pinned;
  for (const auto& [thread, cpus] : wanted.pinned) pinned.push_back({thread, cpus});
  PinnedThreads::of(pinned).restore();
  return first;
}

// Slices get CPUs that the partition has left, since one that both have would make it invalid.
Result<void> Cpuset::shrink_partition(const std::map<Target, CpuSet>& limited, Deadline deadline) {
  for (const auto& [target, cpus] : limited) {
    if (target.kind != Target::Kind::Partition) continue;
    const Masks masks = TRY(masks_of_partition());
    const CpuSet kept = masks.cpus & cpus;
    if (masks.partition == "root" && !kept.empty() && kept != masks.cpus)
      return limit_partition(units_, kept, deadline);
  }
  return {};
}

Result<void> Cpuset::limit(const Target& target, const CpuSet& cpus, const MemoryNodes& nodes, Deadline deadline) {
  switch (target.kind) {
    case Target::Kind::Task: return apply(target.task, Masks{.cpus = cpus});
    case Target::Kind::Scope: return limit_scope(units_, target, cpus, nodes, deadline);
    case Target::Kind::Partition: return limit_partition(units_, cpus, deadline);
    case Target::Kind::Slice:
    case Target::Kind::Unit:
    case Target::Kind::Cgroup: return groups_.limit(target, cpus, deadline);
  }
  return {};
}

Result<void> Cpuset::release(const Target& target, const Masks& before, Deadline deadline) {
  TRY(free(target, before, deadline));
  PinnedThreads::of(before.pinned).restore();
  return {};
}

Result<void> Cpuset::free(const Target& target, const Masks& before, Deadline deadline) {
  switch (target.kind) {
    case Target::Kind::Task: return restore(target.task, before);
    case Target::Kind::Scope: return release_scope(units_, target, before, deadline);
    case Target::Kind::Partition: return release_partition(units_, deadline);
    case Target::Kind::Slice:
    case Target::Kind::Unit:
    case Target::Kind::Cgroup: return groups_.release(target, before, deadline);
  }
  return {};
}

}  // namespace nrd::cpuset
