#include "engine/plan/cpus/placement.h"

#include <fmt/core.h>

#include <optional>
#include <string>

#include "base/joined.h"
#include "engine/plan/cpus/refusal.h"
#include "engine/plan/cpus/search.h"
#include "engine/plan/cpus/slots.h"

namespace nrd::plan {
namespace {

constexpr const char* kCpusField = "/cpu/cpus";

std::string cpu_text(const CpuSet& cpus) { return "CPU " + cpus.to_string(); }

Failure refuse(const std::string& message, const std::string& allowed) {
  return fail_at(ErrorCode::BadRequest, kCpusField, message, allowed);
}

// CPUs that a request may name now.
CpuSet usable(const Situation& situation, const CpuRequest& request) {
  const bool single = situation.pool.threads == CpuPool::Threads::Any;
  CpuSet cpus;
  for (const Slot& slot : slots_of(situation, request)) {
    const CpuId cpu = situation.tree.cpu_at(slot.position);
    cpus |= single ? CpuSet{cpu.value} : situation.tree.core_of(cpu);
  }
  return cpus & situation.pool.cpus;
}

Failure taken(const Situation& situation, const CpuRequest& request, const CpuSet& cpus, const std::string& which) {
  const CpuSet others = usable(situation, request);
  const std::string allowed = others.empty() ? "" : "CPUs of " + others.to_string();
  const std::string owners = situation.owners ? situation.owners(cpus) : "another workload";
  // Only the choice of a dry run leaves out CPUs that no workload has.
  if (owners.empty()) return refuse(fmt::format("{}{} is not in among", cpu_text(cpus), which), allowed);
  return fail_at(ErrorCode::CpuTaken, kCpusField, fmt::format("{}{} belongs to {}", cpu_text(cpus), which, owners),
                 allowed, joined(cpus.members(), " ", [](CpuId cpu) { return std::to_string(cpu.value); }));
}

Result<void> check_siblings(const Situation& situation, const CpuRequest& request) {
  const CpuPool& pool = situation.pool;
  if (pool.threads == CpuPool::Threads::Any) return {};
  if (pool.threads == CpuPool::Threads::One) {
    const CpuSet busy = siblings_in_pool(situation, request.cpus) - situation.free;
    return busy.empty() ? Result<void>{} : taken(situation, request, busy, ", on the same core,");
  }
  CpuSet whole;
  for (const CpuId cpu : request.cpus.members()) whole |= situation.tree.core_of(cpu);
  if (whole == request.cpus) return {};
  return refuse(
      fmt::format("{} grants whole cores: these need {} too", pool_text(pool), cpu_text(whole - request.cpus)),
      whole.is_subset_of(usable(situation, request)) ? whole.to_string() : "");
}

Result<void> check_place(const Situation& situation, const CpuRequest& request) {
  const CpuPool& pool = situation.pool;
  const ZoneIndex zone = situation.tree.smallest_with(request.cpus);
  const ZoneIndex around =
      situation.tree.zone_at(*situation.tree.position_of(request.cpus.members().front()), pool.within);
  if (pool.never_crosses && situation.tree.zones()[zone].level < situation.tree.zones()[around].level) {
    return refuse(fmt::format("{} is not within one {}, which {} never crosses", cpu_text(request.cpus),
                              name_of(pool.within), pool_text(pool)),
                  "");
  }
  const CpuSet far = request.strict ? request.cpus - near_all(situation) : CpuSet{};
  if (!far.empty()) {
    return fail_at(ErrorCode::BadRequest, "/cpu/near",
                   fmt::format("{} is not near {}", cpu_text(far), joined(request.near, " and ")),
                   "\"strict\": false, or CPUs near it");
  }
  for (const Apart& other : situation.apart) {
    Situation alone = situation;
    alone.apart = {other};
    const CpuSet shared = request.cpus & zones_of_apart(alone, request);
    if (shared.empty()) continue;
    const cpuset::Level level = other.level.value_or(request.level);
    return fail_at(ErrorCode::Conflict, "/cpu/apart",
                   fmt::format("{} shares {}{} with workload {}", cpu_text(shared),
                               level == cpuset::Level::L3 ? "an " : "a ", name_of(level), other.workload));
  }
  return {};
}

// Whether `request.cpus` can be granted.
Result<void> check_exact(const Situation& situation, const CpuRequest& request) {
  const CpuPool& pool = situation.pool;
  if (const CpuSet outside = request.cpus - pool.cpus; !outside.empty()) {
    return refuse(fmt::format("{} is not in {}", cpu_text(outside), pool_text(pool)),
                  "CPUs of " + pool.cpus.to_string());
  }
  if (const CpuSet offline = request.cpus - situation.tree.online(); !offline.empty()) {
    const CpuSet online = pool.cpus & situation.tree.online();
    return refuse(cpu_text(offline) + " is offline", online.empty() ? "" : "CPUs of " + online.to_string());
  }
  if (const CpuSet busy = request.cpus - situation.free; !busy.empty()) return taken(situation, request, busy, "");
  TRY(check_siblings(situation, request));
  return check_place(situation, request);
}

CpuGrant grant_of(const Situation& situation, const CpuRequest& request, const Found& found) {
  const bool idle = situation.pool.threads == CpuPool::Threads::One && request.cores == 0;
  return {.pool = situation.pool.name,
          .exclusive = found.cpus,
          .idle_siblings = idle ? siblings_in_pool(situation, found.cpus) : CpuSet{},
          .zone = text_of(situation.tree, situation.tree.smallest_with(found.cpus)),
          .reason = found.reason};
}

}  // namespace

Result<CpuGrant> place(const Situation& situation, const CpuRequest& request) {
  if (!request.cpus.empty()) {
    TRY(check_exact(situation, request));
    return grant_of(situation, request, {request.cpus, "requested"});
  }
  const std::optional<Found> found = find(situation, request, request.cores + request.count);
  if (!found) return Failure(refusal(situation, request));
  return grant_of(situation, request, *found);
}

}  // namespace nrd::plan
