#include "engine/plan/cpu_needs.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/find_in.h"
#include "engine/model/cpu_memory.h"
#include "engine/model/cpu_sets.h"
#include "engine/model/node_state.h"
#include "engine/model/reserves.h"

namespace nrd::plan {
namespace {

std::string size_text(uint64_t bytes) {
  constexpr uint64_t kMib = 1 << 20;
  return bytes == 0 ? "memory" : fmt::format("{} MiB of memory", (bytes + kMib - 1) / kMib);
}

}  // namespace

// What shared pools and their members have of CPU time.
Result<void> check_share(const NodeState& state, const CpuPool& pool, const Workload& workload,
                         const CpuRequest& request, bool has_scope) {
  if (request.limit_milli > 0 && request.limit_milli < request.request_milli)
    return fail_at(ErrorCode::BadRequest, "/cpu/limit_milli", "is less than request_milli",
                   fmt::format("at least {}", request.request_milli));
  if (request.limit_milli > 0 && request.request_milli == 0)
    return fail_at(ErrorCode::BadRequest, "/cpu/request_milli", "is required with limit_milli", "thousandths of a CPU");
  if (request.request_milli == 0) return {};
  if (!workload.spec.has_group() && !has_scope) {
    return fail_at(ErrorCode::Unsupported, "/cpu/request_milli", "single tasks cannot have a share of CPU time",
                   "a unit, a cgroup, or nrdctl run");
  }
  const ShareLimit limit = share_limit(state, pool, workload.origin, workload.id);
  const uint64_t all = limit.most;
  const uint64_t used = std::min(all, limit.requested);
  if (request.request_milli <= all - used) return {};
  return fail_at(ErrorCode::NotEnough, "/cpu/request_milli",
                 fmt::format("pool {} has {} of {} thousandths of a CPU left; {} were requested{}", pool.name,
                             all - used, all, request.request_milli, pool_reserve_text(state, pool, workload.origin)),
                 all == used ? "none until one of its workloads ends" : fmt::format("at most {}", all - used));
}

// Memory is bound before there is any, or an operation moves it: that takes seconds for each GB.
Result<void> check_memory(const NodeState& state, Workload workload, const CpuGrant& grant) {
  workload.grant.cpu = grant;
  if (workload.spec.cpu->memory != CpuRequest::Memory::Near) {
    if (!workload.spec.cpu->migrate) return {};
    return fail_at(ErrorCode::BadRequest, "/cpu/migrate", "only memory near the CPUs is moved",
                   "\"memory\": \"near\" beside it");
  }
  if (!workload.spec.has_group() && !grant.has_scope)
    return fail_at(ErrorCode::Unsupported, "/cpu/memory", "memory of single tasks cannot be bound to NUMA nodes",
                   "any, or a unit, a cgroup, or nrdctl run");
  if (grant.memory_nodes.empty())
    return fail_at(ErrorCode::Unsupported, "/cpu/memory", "the NUMA nodes of the CPUs have no memory", "any");
  for (const cpuset::Target& target : targets_of(workload)) {
    const cpuset::Memory* memory = find_in(state.observed.cpuset.memory, target);
    if (!memory || !memory->is_used || memory->nodes == grant.memory_nodes || workload.spec.cpu->migrate) continue;
    return fail_at(ErrorCode::Conflict, "/cpu/memory",
                   fmt::format("{} runs and has {} of node {}, not of {}", target.name, size_text(memory->bytes),
                               memory->nodes.to_string(), grant.memory_nodes.to_string()),
                   fmt::format("any, \"migrate\": true to move it, or {} before it has processes", target.name));
  }
  return {};
}

}  // namespace nrd::plan
