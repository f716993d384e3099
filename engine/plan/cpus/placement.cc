#include "engine/plan/cpus/placement.h"

#include <optional>

#include "engine/plan/cpus/exact_placement.h"
#include "engine/plan/cpus/refusal.h"
#include "engine/plan/cpus/search.h"
#include "engine/plan/cpus/slots.h"

namespace nrd::plan {
namespace {

Result<void> check_form(const CpuPool& pool, const CpuRequest& request) {
  const int given = (request.count > 0 ? 1 : 0) + (request.cores > 0 ? 1 : 0) + (request.cpus.empty() ? 0 : 1);
  if (given != 1) {
    return fail_at(ErrorCode::BadRequest, "/cpu", "needs exactly one of count, cores and cpus", "count, cores or cpus");
  }
  if (pool.kind == CpuPool::Kind::Shared) {
    const char* field = request.count > 0 ? "/cpu/count" : request.cores > 0 ? "/cpu/cores" : "/cpu/cpus";
    return fail_at(ErrorCode::BadRequest, field, "pool \"" + pool.name + "\" is shared and grants no CPUs of its own",
                   "an exclusive pool");
  }
  return {};
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
  TRY(check_form(situation.pool, request));
  if (!request.cpus.empty()) {
    TRY(check_exact(situation, request));
    return grant_of(situation, request, {request.cpus, "requested"});
  }
  const std::optional<Found> found = find(situation, request, request.cores + request.count);
  if (!found) return Failure(refusal(situation, request));
  return grant_of(situation, request, *found);
}

}  // namespace nrd::plan
