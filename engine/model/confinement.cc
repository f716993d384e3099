#include "engine/model/confinement.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/find_in.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"

namespace nrd {
namespace {

using cpuset::Target;

// All that systemd starts is in one of them (systemd.special(7)).
constexpr std::array kSlices{"system.slice", "user.slice", "machine.slice", "init.scope"};
const Target kPartition{.kind = Target::Kind::Partition, .name = "nrd.slice", .task = {}};
constexpr const char* kKey = "cpu.confine";

// Of `of`, what the rest of the host keeps. Where cpusets overwrite the affinity that isolcpus= gave, it must not get
// the isolated CPUs either.
CpuSet left_for_others(const CpuSet& of, const NodeConfig& config, const NodeFacts& facts) {
  const CpuSet left = of - pooled_cpus(config.cpu_pools);
  const bool would_open = config.confinement == Confinement::Slices && facts.cpuset.overwrites_affinity;
  return would_open ? left - facts.rdt.isolated : left;
}

Failure refused(std::string why, std::string allowed) {
  return fail_at(ErrorCode::BadRequest, kKey, fmt::format("{}: {}", kKey, why), std::move(allowed));
}

// The cgroup at the top level that `target` is in: "system.slice".
std::string top_level_of(const Target& target, const cpuset::Group& group) {
  if (target.kind == Target::Kind::Unit) {
    const size_t dash = group.parent.find('-');  // "nrd-deep.slice" is below "nrd.slice" (systemd.slice(5))
    return dash == std::string::npos ? group.parent : group.parent.substr(0, dash) + ".slice";
  }
  const std::string& path = target.kind == Target::Kind::Cgroup ? target.name : group.parent;
  return path.empty() ? path : path.substr(1, path.find('/', 1) - 1);
}

bool is_confined(Confinement confinement, const std::string& top_level) {
  switch (confinement) {
    case Confinement::None: return false;
    case Confinement::Slices: return std::ranges::find(kSlices, top_level) != kSlices.end();
    case Confinement::Partition: return top_level != kPartition.name;
  }
  return false;
}

}  // namespace

// The slices in either case: a list that one of them keeps (systemd issue 43846) would invalidate the partition, and
// what else invalidates it does not let them in.
std::map<Target, CpuSet> confinement_of(const NodeState& state) {
  if (state.config->confinement == Confinement::None) return {};
  const CpuSet pooled = (pooled_cpus(state.config->cpu_pools) | granted_cpus(state)) & state.facts.rdt.online;
  std::map<Target, CpuSet> confined;
  const CpuSet left = cpus_of_others(state);
  if (left.empty()) return confined;  // of its CPUs only those of pools are online
  for (const char* slice : kSlices) {
    confined[{.kind = Target::Kind::Slice, .name = slice, .task = {}}] = left;
  }
  // The kernel accepts no partition of offline CPUs alone.
  if (state.config->confinement == Confinement::Partition && !pooled.empty()) confined[kPartition] = pooled;
  return confined;
}

CpuSet cpus_of_others(const NodeState& state) {
  const CpuSet& online = state.facts.rdt.online;
  if (state.config->confinement == Confinement::None) return online;
  return left_for_others(online, *state.config, state.facts) - granted_cpus(state);
}

bool overwrites_unclaimed(const NodeState& state) {
  if (!state.facts.cpuset.overwrites_affinity) return false;
  return std::ranges::any_of(confinement_of(state), [&state](const auto& entry) {
    const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, entry.first);
    const bool is_absent = masks && masks->cpus.empty();
    return !is_absent && !state.baselines.cpu_sets.contains(entry.first);
  });
}

std::optional<cpuset::Masks> observed_partition(const NodeState& state) {
  const cpuset::Masks* found = find_in(state.observed.cpuset.targets, kPartition);
  const bool is_one = state.config->confinement == Confinement::Partition;
  return is_one && found ? std::optional(*found) : std::nullopt;
}

Result<void> check_has_pools(Confinement confinement, const CpuPools& pools) {
  if (confinement == Confinement::None || !pools.empty()) return {};
  return refused("there are no CPU pools", "\"none\", or [[cpu.pools]] beside it");
}

Result<void> check_confinement(const NodeConfig& config, const NodeFacts& facts) {
  TRY(check_has_pools(config.confinement, config.cpu_pools));
  if (config.confinement == Confinement::None) return {};
  if (!facts.cpuset.no_slices.empty()) return refused(facts.cpuset.no_slices, "\"none\"");
  // Linux 6.12 takes these into no partition; before 6.2, a partition would open them to everything.
  const CpuSet isolated =
      facts.cpuset.overwrites_affinity ? facts.rdt.isolated : pooled_cpus(config.cpu_pools) & facts.rdt.isolated;
  if (config.confinement == Confinement::Partition && !isolated.empty())
    return refused(fmt::format("CPU {} is isolated by isolcpus=", isolated.to_string()), "\"none\" or \"slices\"");
  if (left_for_others(facts.rdt.online, config, facts).empty())
    return refused("no online CPU would be left for the rest of the host", "pools without some of the online CPUs");
  return {};
}

Result<void> check_pinned_units(const NodeConfig& config, const NodeFacts& facts,
                                const std::map<std::string, CpuSet>& pinned) {
  if (config.confinement == Confinement::None) return {};
  const CpuSet left = left_for_others(facts.rdt.possible, config, facts);
  std::string names;
  for (const auto& [unit, cpus] : pinned) {
    if (!cpus.empty() && !cpus.intersects(left))
      names += fmt::format("{}{} (CPUAffinity={})", names.empty() ? "" : ", ", unit, cpus.to_string());
  }
  if (names.empty()) return {};
  return refused("could not start any more: " + names,
                 "units with a CPU outside the pools in CPUAffinity=, or in nrd.slice");
}

bool must_confine(const NodeState& state) {
  return !state.workloads.empty() ||
         std::ranges::any_of(state.baselines.cpu_sets, [](const auto& claim) { return confines(claim.first); });
}

Result<void> check_limited_targets(const NodeState& state, Confinement next) {
  std::string names;
  for (const auto& [id, workload] : state.workloads) {
    for (const Target& target : targets_of(workload)) {
      const cpuset::Group* group = find_in(state.observed.cpuset.groups, target);
      if (!group || is_gone(state, target)) continue;
      const std::string top_level = top_level_of(target, *group);
      if (is_confined(state.config->confinement, top_level) || !is_confined(next, top_level)) continue;
      const bool is_task = target.kind == Target::Kind::Task;
      names += fmt::format("{}{} of workload {}", names.empty() ? "" : ", ",
                           is_task ? "task " + std::to_string(target.task.id) : target.name, id_text(workload));
    }
  }
  if (names.empty()) return {};
  return fail_at(ErrorCode::Conflict, kKey,
                 fmt::format("{}: outside nrd.slice these would lose their CPUs: {}", kKey, names),
                 "services in nrd.slice (nrdctl export unit), commands of nrdctl run, or no such workloads");
}

std::string confinement_problem(const NodeState& state) {
  for (const auto& [target, cpus] : confinement_of(state)) {
    const cpuset::Masks* masks = find_in(state.observed.cpuset.targets, target);
    if (!masks || masks->cpus.empty()) continue;
    if (masks->cpus == cpus && masks->partition == cpuset::limited_to(target, cpus).partition) continue;
    const std::string& kind = masks->partition;
    return fmt::format(
        "the rest of the host may run on CPUs of pools: {} runs on CPU {}{}, not on {}; check AllowedCPUs= of units at "
        "the top level",
        target.name, masks->cpus.to_string(), kind.empty() ? "" : " (" + kind + ")", cpus.to_string());
  }
  return {};
}

}  // namespace nrd
