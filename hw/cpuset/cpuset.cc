#include "hw/cpuset/cpuset.h"

#include <chrono>
#include <optional>
#include <utility>

#include "hw/cpuset/affinity.h"
#include "hw/cpuset/cgroup.h"
#include "hw/cpuset/conflicts.h"
#include "hw/cpuset/controller.h"
#include "hw/cpuset/kernel_facts.h"
#include "hw/cpuset/latency.h"

namespace nrd::cpuset {
namespace {

// What a request may spend on systemd's answers; others wait meanwhile.
constexpr std::chrono::milliseconds kPatience{800};

// For a search of conflicts: some 10 ms with a thousand processes, which a request must not wait for.
constexpr std::chrono::milliseconds kSearchPatience{20};
const std::string kRoot;  // the host itself

}  // namespace

Result<Node> Cpuset::discover() {
  std::vector<Zone> zones = TRY(topology_.zones());
  Node node{.zones = std::move(zones),
            .no_scopes = {},
            .no_cgroups = why_no_cpusets(),
            .core_kinds = read_core_kinds(""),
            .nohz_full = read_nohz_full(""),
            .free_huge_pages = read_free_huge_pages(""),
            .no_latency_limits = why_no_latency_limits(kRoot)};
  node.no_scopes = node.no_cgroups.empty() ? why_not_enabled() : node.no_cgroups;
  if (node.no_scopes.empty()) node.no_scopes = units_.why_not();
  return node;
}

Result<Observed> Cpuset::observe(const Query& query) {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  Observed observed{.targets = {}, .groups = {}, .latency = observe_latency(kRoot, query.latency), .noise = {}};
  for (const Target& target : query.targets) {
    std::optional<Masks> masks;
    switch (target.kind) {
      case Target::Kind::Task: masks = TRY(masks_of(target.task)); break;
      case Target::Kind::Scope: masks = TRY(scopes_.masks_of(target)); break;
      case Target::Kind::Unit:
      case Target::Kind::Cgroup: {
        std::optional<Groups::Seen> seen = TRY(groups_.observe(target, deadline));
        if (!seen) break;
        masks = std::move(seen->masks);
        observed.groups[target] = std::move(seen->group);
      }
    }
    if (masks) observed.targets[target] = *std::move(masks);
  }
  return observed;
}

std::vector<Conflict> Cpuset::conflicts(const PoolUse& use) {
  if (use.pooled.empty()) return {};
  if (!search_.valid()) search_ = std::async(std::launch::async, [use] { return find_conflicts(use); });
  if (search_.wait_for(kSearchPatience) == std::future_status::ready) found_ = search_.get();
  return found_;
}

Result<void> Cpuset::converge(const Setting& wanted) {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  for (const auto& [target, cpus] : wanted.limited) TRY(limit(target, cpus, deadline));
  for (const auto& [target, before] : wanted.restored) TRY(release(target, before, deadline));
  TRY(converge_latency(kRoot, wanted.restored_latency));
  TRY(converge_latency(kRoot, wanted.latency));
  TRY(noise_.converge(wanted.restored_noise));
  return noise_.converge(wanted.noise);
}

Result<void> Cpuset::limit(const Target& target, const CpuSet& cpus, Deadline deadline) {
  switch (target.kind) {
    case Target::Kind::Task: return apply(target.task, Masks{.cpus = cpus});
    case Target::Kind::Scope: return scopes_.limit(target, cpus, deadline);
    case Target::Kind::Unit:
    case Target::Kind::Cgroup: return groups_.limit(target, cpus, deadline);
  }
  return {};
}

Result<void> Cpuset::release(const Target& target, const Masks& before, Deadline deadline) {
  switch (target.kind) {
    case Target::Kind::Task: return restore(target.task, before);
    case Target::Kind::Scope: return scopes_.release(target, before, deadline);
    case Target::Kind::Unit:
    case Target::Kind::Cgroup: return groups_.release(target, before, deadline);
  }
  return {};
}

}  // namespace nrd::cpuset
