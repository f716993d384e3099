#include "engine/plan/spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/core_ids.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/plan/bandwidth.h"
#include "engine/plan/targets.h"

namespace nrd::plan {
namespace {

// JSON pointer of the core_ids item that contains `cpu`.
std::string item_of(const Spec& spec, CpuId cpu) {
  for (size_t i = 0; i < spec.core_ids.size(); ++i) {
    const Result<CpuSet> item = parse_core_ids({spec.core_ids[i]});
    if (item && item->contains(cpu)) return fmt::format("/core_ids/{}", i);
  }
  return "/core_ids";
}

constexpr const char* kFreeCpus = "CPUs that no other workload or group has";

Failure taken(const CpuSet& cpus, const std::string& by, const std::string& allowed, const std::string& subject) {
  return fail_at(ErrorCode::CpuTaken, "/core_ids", fmt::format("CPU {} belongs to {}", cpus.to_string(), by), allowed,
                 joined(cpus.members(), " ", [](CpuId cpu) { return std::to_string(cpu.value); }) + subject);
}

// CPUs taken by something other than a workload: the subject names it after the CPUs.
Failure taken_by_group(const CpuSet& cpus, const std::string& group, const std::string& allowed) {
  return taken(cpus, group, allowed, "; " + group);
}

// The same for a foreign resctrl group.
Failure taken_by_others(const CpuSet& cpus, const std::string& group) {
  return taken_by_group(cpus, fmt::format("resctrl group {}, which nrd does not own", group),
                        fmt::format("{}; {}", kFreeCpus, how_to_free(group)));
}

// CPUs that it keeps may be offline meanwhile, unless all are.
CpuSet cpus_to_check(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self) {
  const CpuSet& cpus = cpus_of(workload);
  const CpuSet online = cpus & state.facts.rdt.online;
  const bool is_kept = self && workload.grant.cpu && state.workloads.at(*self).grant.cpu == workload.grant.cpu;
  return is_kept && !online.empty() ? online : cpus;
}

Result<void> check_cpus_exist(const rdt::Node& node, const Workload& workload, const CpuSet& cpus) {
  const Spec& spec = workload.spec;
  if (cpus.empty() && (!spec.tasks.empty() || spec.has_group()) && spec.core_ids.empty()) return {};
  if (cpus.empty()) {
    return fail_at(ErrorCode::BadRequest, "/core_ids", "names no CPU", "CPUs of " + node.online.to_string());
  }
  const CpuSet cached = spec.cache ? rdt::cpus_of(node.main().caches) : node.online;
  const CpuSet l2_cached = spec.l2 ? rdt::cpus_of(node.level_of(2).caches) : node.online;
  const CpuSet usable = node.online & cached & l2_cached;
  const auto refuse = [&](const CpuSet& wrong, const std::string& what) {
    return fail_at(ErrorCode::BadRequest, spec.cpu ? "/cpu" : item_of(spec, wrong.members().front()),
                   fmt::format("CPU {}{}", wrong.to_string(), what), "CPUs of " + usable.to_string());
  };
  if (const CpuSet unknown = cpus - node.possible; !unknown.empty()) {
    return refuse(unknown, " does not exist on this node");
  }
  if (const CpuSet offline = cpus - node.online; !offline.empty()) return refuse(offline, " is offline");
  if (const CpuSet bare = cpus - cached; !bare.empty())
    return refuse(bare, fmt::format(" has no cache of level {}", node.main_level));
  if (const CpuSet bare = cpus - l2_cached; !bare.empty()) return refuse(bare, " has no cache of level 2");
  return {};
}

Result<void> check_cpus_free(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self) {
  CpuSet conflict;
  for (const auto& [id, other] : state.workloads) {
    if (id != self) conflict |= reserved_cpus_of(other) & reserved_cpus_of(workload);
  }
  return conflict.empty() ? Result<void>() : taken(conflict, owners_of(state, conflict, self), kFreeCpus, "");
}

// Reserved CPUs may already be in a class; a workload without ways does not change that.
Result<void> check_classes_free(const NodeState& state, const Workload& workload) {
  const CpuSet& cpus = cpus_of(workload);
  if (const CpuSet both = state.config->groups.os & cpus; !both.empty()) {
    return taken_by_group(both, "the operating system, by the configuration (os.cpus)", "CPUs outside of os.cpus");
  }
  if (const CpuSet both = state.config->groups.infra & cpus; !both.empty()) {
    return taken_by_group(both, "the infrastructure, by the configuration (infra.cpus)", "CPUs outside of infra.cpus");
  }
  for (const auto& [name, group] : state.observed.rdt.foreign) {
    if (const CpuSet both = group.cpus & cpus; !both.empty()) {
      return taken_by_others(both, name);
    }
  }
  for (const auto& [clos, group] : state.observed.rdt.classes) {
    CpuSet both = group.cpus & cpus;
    for (const auto& [cpu, claimed] : state.baselines.cpus) both.remove(cpu);  // nrd claimed these before
    if (clos != kRootClass && !is_class_of_ours(state, clos) && !both.empty()) {
      return taken_by_others(both, text_of(clos));
    }
  }
  return {};
}

// Refuses `value` if a workload other than `self` has it, or was given it as its id: nrdctl finds workloads by each.
Result<void> check_unique(const NodeState& state, const std::string& value, std::string Spec::*member, const char* what,
                          std::optional<WorkloadId> self) {
  if (value.empty()) return {};
  for (const auto& [id, other] : state.workloads) {
    const bool is_same = other.spec.*member == value;
    if (id == self || (!is_same && other.spec.given_id != value)) continue;
    return fail_at(member == &Spec::uuid ? ErrorCode::UuidTaken : ErrorCode::NameTaken, std::string("/") + what,
                   fmt::format("workload {} already has this {}", id_text(other), is_same ? what : "id"),
                   fmt::format("a {} that no other workload has", what), id_text(other));
  }
  return {};
}

// The given id is neither the uuid nor the name of another workload: nrdctl finds workloads by id first.
Result<void> check_id(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  const std::string& given = spec.given_id;
  if (given.empty() || self) return {};
  const auto refuse = [&given](const char* what) {
    return fail_at(ErrorCode::IdTaken, "/id", std::string("another workload has this ") + what,
                   "an id that no other workload has, or none", given);
  };
  if (workload_with_id(state, given)) return refuse("id");
  for (const auto& [id, other] : state.workloads) {
    if (other.spec.uuid == given) return refuse("uuid");
    if (other.spec.name == given) return refuse("name");
  }
  return {};
}

Result<void> check_can_cache(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  if (node.main().cat && main_layout(state)) return {};
  const std::string why = node.missing.empty() ? "this node has no cache allocation" : node.missing.front();
  return fail_at(ErrorCode::Unsupported, "/cache", "cache ways cannot be allocated: " + why);
}

// Pools are the same on every cache; the refusal names `touched`. Its subject is the text for clients of RMD.
Result<void> check_sizes(const NodeState& state, const CacheRequest& cache, CacheId touched) {
  const Pool pool = TRY(pool_of(cache));
  const unsigned available = ways_of(*main_layout(state), pool).count();
  const unsigned smallest = state.facts.rdt.main().cat->min_ways;
  if (available == 0) {
    const std::string name = to_string(pool);
    return fail_at(ErrorCode::Unsupported, "/cache", fmt::format("the {} pool has no ways on this node", name), "",
                   "no pool " + name);
  }
  if (pool == Pool::Shared) return {};
  const std::string allowed = fmt::format("{} to {} ways", smallest, available);
  const char* field = pool == Pool::Guarantee ? "/cache/max" : "/cache/min";
  if (cache.min > available) {
    return fail_at(ErrorCode::BadRequest, field,
                   fmt::format("{} ways, but the {} pool has {}", cache.min, to_string(pool), available), allowed,
                   fmt::format("pool too small on {}", touched.value));
  }
  if (cache.min < smallest) {
    return fail_at(ErrorCode::BadRequest, field,
                   fmt::format("{} ways, but a mask on this node has at least {}", cache.min, smallest), allowed);
  }
  return {};
}

// `least` is the minimum granted; data must keep some of it when best effort shrinks. `least_is` is its name for
// clients, "min".
Result<void> check_code(const rdt::Cat& cat, const std::string& field, uint32_t code, uint32_t least,
                        const std::string& least_is) {
  if (code == 0) return {};
  if (!cat.cdp) {
    return fail_at(ErrorCode::Unsupported, field,
                   "separate ways for code and data are not available: resctrl is not mounted with " +
                       std::string(field.starts_with("/l2") ? "cdpl2" : "cdp"));
  }
  const unsigned both = 2 * cat.min_ways;
  if (least < both) {
    return fail_at(ErrorCode::BadRequest, field,
                   fmt::format("code and data need at least {} ways each, but {} is {}", cat.min_ways, least_is, least),
                   fmt::format("0, or {} or more for {}", both, least_is));
  }
  if (code >= cat.min_ways && code <= least - cat.min_ways) return {};
  return fail_at(ErrorCode::BadRequest, field,
                 fmt::format("{} ways for code leave too few of {} ({}) for data", code, least, least_is),
                 fmt::format("0 or {} to {} ways", cat.min_ways, least - cat.min_ways));
}

// The CPUs or tasks' caches on which ways of `cache` are requested. Requires a request whose CPUs have caches.
CacheId first_cache(const NodeState& state, const Workload& workload) {
  return *caches_of(state.facts.rdt, workload).begin();  // of the main level, which comes first
}

Result<void> check_amounts(const NodeState& state, const CacheRequest& cache, CacheId touched) {
  TRY(check_sizes(state, cache, touched));
  return check_code(*state.facts.rdt.main().cat, "/cache/code", cache.code, cache.min, "min");
}

Result<void> check_can_l2(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  const std::optional<rdt::Cat>& cat = node.main().cat;
  if (cat && node.main_level == 2) {
    return fail_at(ErrorCode::Unsupported, "/l2", "this node allocates only L2 caches",
                   "cache, which means L2 on this node");
  }
  if (layout_of(state, 2)) return {};
  const std::string why = cat                    ? "resctrl has no info/L2 here"
                          : node.missing.empty() ? "this node has no cache allocation"
                                                 : node.missing.front();
  return fail_at(ErrorCode::Unsupported, "/l2", "L2 ways cannot be allocated: " + why);
}

Result<void> check_l2(const NodeState& state, const Spec& spec) {
  if (!spec.l2) return {};
  const rdt::Cat& cat = *state.facts.rdt.level_of(2).cat;
  const unsigned available = layout_of(state, 2)->guarantee.count();
  const std::string allowed = fmt::format("{} to {} ways", cat.min_ways, available);
  if (spec.l2->ways < cat.min_ways || spec.l2->ways > available) {
    return fail_at(ErrorCode::BadRequest, "/l2/ways",
                   fmt::format("{} ways, but a mask has at least {}, and workloads can have at most {}", spec.l2->ways,
                               cat.min_ways, available),
                   allowed);
  }
  if (spec.cache && spec.cache->max == 0) {
    return fail_at(ErrorCode::BadRequest, "/l2", "workloads in the shared class cannot have L2 ways of their own",
                   "max and min of cache above 0, or no cache");
  }
  return check_code(cat, "/l2/code", spec.l2->code, spec.l2->ways, "ways");
}

}  // namespace

WayMask ways_of(const PoolPartition& layout, Pool pool) {
  switch (pool) {
    case Pool::None: break;
    case Pool::Guarantee: return layout.guarantee;
    case Pool::BestEffort: return layout.besteffort;
    case Pool::Shared: return layout.shared;
  }
  return {};
}

Result<void> check_revision(const NodeState& state, WorkloadId id, const std::optional<std::vector<uint64_t>>& wanted) {
  const Workload* found = find_in(state.workloads, id);
  if (!wanted || !found) return {};
  if (std::ranges::find(*wanted, found->revision) != wanted->end()) return {};
  return fail_at(ErrorCode::Stale, "If-Match",
                 fmt::format("the workload has changed; its revision is now {}", found->revision),
                 "the current ETag of the workload");
}

Result<void> check_owner(const NodeState& state, WorkloadId id, const std::optional<Owner>& only) {
  const Workload* found = find_in(state.workloads, id);
  if (!only || !found || found->spec.owner == only) return {};
  return fail(ErrorCode::NotFound, "there is no such workload");
}

// The subjects are texts for clients of RMD, in RMD's words.
Result<Pool> pool_of(const CacheRequest& request) {
  if (request.min > request.max) {
    return fail_at(ErrorCode::BadRequest, "/cache/min",
                   fmt::format("min is {}, but max is only {}", request.min, request.max), "0 to max", "min above max");
  }
  if (request.max == 0) return Pool::Shared;
  if (request.min == 0) {
    return fail_at(ErrorCode::BadRequest, "/cache/min",
                   fmt::format("min is 0, but max is {}; only 0/0 (the shared class) has no min", request.max),
                   "1 to max", fmt::format("no min beside {}", request.max));
  }
  return request.max == request.min ? Pool::Guarantee : Pool::BestEffort;
}

Result<void> check_names(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  constexpr size_t kMostLabels = 32;
  constexpr size_t kMostBytes = 4096;
  if (spec.labels.size() > kMostLabels) {
    return fail_at(ErrorCode::BadRequest, "/labels",
                   fmt::format("the workload would have {} labels", spec.labels.size()),
                   fmt::format("at most {}", kMostLabels));
  }
  size_t bytes = 0;
  for (const auto& [key, value] : spec.labels) bytes += key.size() + value.size();
  if (bytes > kMostBytes) {
    return fail_at(ErrorCode::BadRequest, "/labels", fmt::format("the workload would have {} bytes of labels", bytes),
                   fmt::format("at most {}", kMostBytes));
  }
  TRY(check_unique(state, spec.uuid, &Spec::uuid, "uuid", self));
  return check_unique(state, spec.name, &Spec::name, "name", self);
}

// A list of them is one answer. The role `run` leaves some to others, which it could keep from creating any.
Result<void> check_room(const NodeState& state, std::optional<WorkloadId> self, bool is_of_run) {
  constexpr size_t kMostWorkloads = 4096;
  constexpr size_t kMostWithRun = 3072;
  const size_t most = is_of_run ? kMostWithRun : kMostWorkloads;
  if (self || state.workloads.size() < most) return {};
  return fail(ErrorCode::NotEnough, fmt::format("there are {} workloads, the most {}", state.workloads.size(),
                                                is_of_run ? "to which the role run adds" : "of a node"));
}

Result<void> check_ways(const NodeState& state, const CacheRequest& cache, CacheId touched) {
  TRY(check_can_cache(state));
  return check_amounts(state, cache, touched);
}

Result<void> check(const NodeState& state, const Workload& workload, std::optional<WorkloadId> self, bool is_of_run) {
  const Spec& spec = workload.spec;
  if (spec.cache) TRY(check_can_cache(state));
  if (spec.l2) TRY(check_can_l2(state));
  TRY(check_room(state, self, is_of_run));
  TRY(check_cpus_exist(state.facts.rdt, workload, cpus_to_check(state, workload, self)));
  TRY(check_id(state, spec, self));
  TRY(check_names(state, spec, self));
  TRY(check_tasks(state, spec, self));
  TRY(check_group(state, workload, self));
  TRY(check_bandwidth(state, spec));
  TRY(check_cpus_free(state, workload, self));
  if (spec.asks_for_ways()) TRY(check_classes_free(state, workload));
  if (spec.cache) TRY(check_amounts(state, *spec.cache, first_cache(state, workload)));
  return check_l2(state, spec);
}

std::set<CacheId> caches_of(const rdt::Node& node, const Workload& workload) {
  const Spec& spec = workload.spec;
  const std::span<const CpuGrant> grants = cpu_grants_of(workload);
  // To exclusive CPUs, as are its tasks then.
  const bool is_limited =
      !grants.empty() && std::ranges::none_of(grants, [](const CpuGrant& grant) { return grant.exclusive.empty(); });
  const CpuSet used = is_limited ? cpus_of(workload) : spec.cpus | spec.task_cpus;
  std::set<CacheId> touched;
  const auto add_touched = [&](const std::map<CacheId, CpuSet>& caches) {
    std::set<CacheId> of_level;
    for (const auto& [id, members] : caches) {
      if (members.intersects(used)) of_level.insert(id);
    }
    if (of_level.empty() && (!spec.tasks.empty() || spec.has_group()) && !is_limited) {
      for (const auto& [id, members] : caches) of_level.insert(id);
    }
    touched.merge(of_level);
  };
  if (spec.cache) add_touched(node.main().caches);
  if (spec.l2) add_touched(node.level_of(2).caches);
  return touched;
}

}  // namespace nrd::plan
