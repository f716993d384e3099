#include "engine/plan/spec.h"

#include <algorithm>
#include <string>

#include "engine/core_ids.h"
#include "engine/plan/bandwidth.h"
#include "engine/plan/tasks.h"

namespace nrd::plan {
namespace {

// JSON pointer of the core_ids item that names `cpu`.
std::string item_of(const Spec& spec, CpuId cpu) {
  for (size_t i = 0; i < spec.core_ids.size(); ++i) {
    const Result<CpuSet> item = parse_core_ids({spec.core_ids[i]});
    if (item && item->contains(cpu)) return "/core_ids/" + std::to_string(i);
  }
  return "/core_ids";
}

std::string spaced(const CpuSet& cpus) {
  std::string text;
  for (const CpuId cpu : cpus.members()) text += (text.empty() ? "" : " ") + std::to_string(cpu.value);
  return text;
}

Failure taken(const CpuSet& cpus, const std::string& by) {
  return Failure(Error{.code = ErrorCode::CpuTaken,
                       .field = "/core_ids",
                       .message = "CPU " + cpus.to_string() + " belongs to " + by,
                       .detail = {},
                       .allowed = "CPUs that no other workload or group has",
                       .subject = spaced(cpus)});
}

Result<void> check_cpus_exist(const rdt::Node& node, const Spec& spec) {
  if (spec.cpus.empty() && !spec.tasks.empty() && spec.core_ids.empty()) return {};
  if (spec.cpus.empty()) {
    return fail_at(ErrorCode::BadRequest, "/core_ids", "names no CPU", "CPUs of " + node.online.to_string());
  }
  CpuSet cached;
  for (const auto& [id, cpus] : node.caches) cached |= cpus;
  const CpuSet usable = spec.cache ? node.online & cached : node.online;
  const auto refuse = [&](const CpuSet& wrong, const std::string& what) {
    return fail_at(ErrorCode::BadRequest, item_of(spec, wrong.members().front()), "CPU " + wrong.to_string() + what,
                   "CPUs of " + usable.to_string());
  };
  if (const CpuSet unknown = spec.cpus - node.possible; !unknown.empty()) {
    return refuse(unknown, " does not exist on this node");
  }
  if (const CpuSet offline = spec.cpus - node.online; !offline.empty()) return refuse(offline, " is offline");
  if (const CpuSet bare = spec.cpus - cached; spec.cache && !bare.empty())
    return refuse(bare, " has no cache of level " + std::to_string(node.level));
  return {};
}

Result<void> check_cpus_free(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  CpuSet conflict;
  std::string owners;
  for (const auto& [id, other] : state.workloads) {
    const CpuSet both = other.spec.cpus & spec.cpus;
    if (id == self || both.empty()) continue;
    conflict |= both;
    owners += (owners.empty() ? "workload " : ", ") + id_text(other);
  }
  if (!conflict.empty()) return taken(conflict, owners);
  return {};
}

// Groups may have put CPUs into classes; whoever asks for no cache does not touch that.
Result<void> check_classes_free(const NodeState& state, const Spec& spec) {
  if (const CpuSet both = state.groups.os & spec.cpus; !both.empty()) {
    return taken(both, "the operating system, by the configuration (os.cpus)");
  }
  if (const CpuSet both = state.groups.infra & spec.cpus; !both.empty()) {
    return taken(both, "the infrastructure, by the configuration (infra.cpus)");
  }
  for (const auto& [name, group] : state.observed.rdt.foreign) {
    if (const CpuSet both = group.cpus & spec.cpus; !both.empty()) {
      return taken(both, "resctrl group " + name + ", which nrd does not own");
    }
  }
  for (const auto& [clos, group] : state.observed.rdt.classes) {
    CpuSet both = group.cpus & spec.cpus;
    for (const auto& [cpu, home] : state.baselines.cpus) both.remove(cpu);  // ours: claimed before
    if (clos != ClosId{0} && !both.empty()) {
      return taken(both, "class COS" + std::to_string(clos.value) + ", which nrd does not own");
    }
  }
  return {};
}

Result<void> check_uuid(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  if (spec.uuid.empty()) return {};
  for (const auto& [id, other] : state.workloads) {
    if (id == self || other.spec.uuid != spec.uuid) continue;
    return Failure(Error{.code = ErrorCode::UuidTaken,
                         .field = "/uuid",
                         .message = "workload " + id_text(other) + " already has this uuid",
                         .detail = {},
                         .allowed = "a uuid that no other workload has",
                         .subject = id_text(other)});
  }
  return {};
}

Result<void> check_id(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  if (spec.given_id.empty() || self || !workload_with_id(state, spec.given_id)) return {};
  return Failure(Error{.code = ErrorCode::IdTaken,
                       .field = "/id",
                       .message = "another workload has this id",
                       .detail = {},
                       .allowed = "an id that no other workload has, or none",
                       .subject = spec.given_id});
}

Result<void> check_can_cache(const NodeState& state) {
  const rdt::Node& node = state.facts.rdt;
  if (node.l3_cat && state.layout) return {};
  const std::string why = node.missing.empty() ? "this node has no cache allocation" : node.missing.front();
  return fail_at(ErrorCode::Unsupported, "/cache", "cache ways cannot be granted here: " + why);
}

Result<void> check_sizes(const NodeState& state, const CacheRequest& cache) {
  const Result<Pool> pool = pool_of(cache);
  if (!pool) return Failure(pool.error());
  const unsigned room = ways_of(*state.layout, *pool).count();
  const unsigned smallest = state.facts.rdt.l3_cat->min_ways;
  if (room == 0) {
    return fail_at(ErrorCode::Unsupported, "/cache",
                   std::string("the ") + to_string(*pool) + " pool has no ways on this node");
  }
  if (*pool == Pool::Shared) return {};
  const std::string allowed = std::to_string(smallest) + " to " + std::to_string(room) + " ways";
  const char* field = *pool == Pool::Guarantee ? "/cache/max" : "/cache/min";
  if (cache.min > room) {
    return fail_at(
        ErrorCode::BadRequest, field,
        std::to_string(cache.min) + " ways, but the " + to_string(*pool) + " pool has " + std::to_string(room),
        allowed);
  }
  if (cache.min < smallest) {
    return fail_at(
        ErrorCode::BadRequest, field,
        std::to_string(cache.min) + " ways, but a mask on this node has at least " + std::to_string(smallest), allowed);
  }
  return {};
}

// Code has its ways of the least that is granted, so that data keeps some when best effort shrinks.
Result<void> check_code(const NodeState& state, const CacheRequest& cache) {
  if (cache.code == 0) return {};
  const rdt::L3Cat& cat = *state.facts.rdt.l3_cat;
  if (!cat.cdp) {
    return fail_at(ErrorCode::Unsupported, "/cache/code",
                   "code and data cannot have ways apart here: resctrl is not mounted with cdp");
  }
  const unsigned both = 2 * cat.min_ways;
  if (cache.min < both) {
    return fail_at(ErrorCode::BadRequest, "/cache/code",
                   "code and data have " + std::to_string(cat.min_ways) + " ways each at least, but min is " +
                       std::to_string(cache.min),
                   "0, or a min of " + std::to_string(both) + " or more");
  }
  if (cache.code >= cat.min_ways && cache.code <= cache.min - cat.min_ways) return {};
  return fail_at(ErrorCode::BadRequest, "/cache/code",
                 std::to_string(cache.code) + " ways for code, but of a min of " + std::to_string(cache.min) +
                     " data needs some as well",
                 "0 or " + std::to_string(cat.min_ways) + " to " + std::to_string(cache.min - cat.min_ways) + " ways");
}

Result<void> check_amounts(const NodeState& state, const CacheRequest& cache) {
  return check_sizes(state, cache).and_then([&] { return check_code(state, cache); });
}

}  // namespace

WayMask ways_of(const Layout& layout, Pool pool) {
  switch (pool) {
    case Pool::None: break;
    case Pool::Guarantee: return layout.guarantee;
    case Pool::BestEffort: return layout.besteffort;
    case Pool::Shared: return layout.shared;
  }
  return {};
}

Result<void> check_revision(const NodeState& state, WorkloadId id, const std::optional<std::vector<uint64_t>>& wanted) {
  const auto found = state.workloads.find(id);
  if (!wanted || found == state.workloads.end()) return {};
  if (std::ranges::find(*wanted, found->second.revision) != wanted->end()) return {};
  return fail_at(ErrorCode::Stale, "If-Match", "the workload has changed since",
                 "the ETag of the workload as it is now");
}

Result<Pool> pool_of(const CacheRequest& request) {
  if (request.min > request.max) {
    return fail_at(ErrorCode::BadRequest, "/cache/min",
                   "min is " + std::to_string(request.min) + ", but max is only " + std::to_string(request.max),
                   "0 to max");
  }
  if (request.max == 0) return Pool::Shared;
  if (request.min == 0) {
    return fail_at(ErrorCode::BadRequest, "/cache/min",
                   "min is 0, but max is " + std::to_string(request.max) + "; only 0/0 (the shared class) has no min",
                   "1 to max");
  }
  return request.max == request.min ? Pool::Guarantee : Pool::BestEffort;
}

Result<void> check_ways(const NodeState& state, const CacheRequest& cache) {
  return check_can_cache(state).and_then([&] { return check_amounts(state, cache); });
}

Result<void> check(const NodeState& state, const Spec& spec, std::optional<WorkloadId> self) {
  const Result<void> can = spec.cache ? check_can_cache(state) : Result<void>();
  if (!can) return can;
  return check_cpus_exist(state.facts.rdt, spec)
      .and_then([&] { return check_id(state, spec, self); })
      .and_then([&] { return check_uuid(state, spec, self); })
      .and_then([&] { return check_tasks(state, spec, self); })
      .and_then([&] { return check_bandwidth(state, spec); })
      .and_then([&] { return check_cpus_free(state, spec, self); })
      .and_then([&] { return spec.cache ? check_classes_free(state, spec) : Result<void>(); })
      .and_then([&] { return spec.cache ? check_amounts(state, *spec.cache) : Result<void>(); });
}

std::set<CacheId> caches_of(const rdt::Node& node, const Spec& spec) {
  std::set<CacheId> touched;
  for (const auto& [id, members] : node.caches) {
    if (members.intersects(spec.cpus | spec.task_cpus)) touched.insert(id);
  }
  if (touched.empty() && !spec.tasks.empty()) {
    for (const auto& [id, members] : node.caches) touched.insert(id);
  }
  return touched;
}

}  // namespace nrd::plan
