// A change of the workloads that a client asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/model/workload.h"
#include "engine/plan/put.h"
#include "engine/transaction/idempotency.h"

namespace nrd {

// Apply only if the workload has one of these revisions, else ErrorCode::Stale; nullopt: any revision.
using IfRevision = std::optional<std::vector<uint64_t>>;

struct CreateWorkload {
  Spec spec;
  std::optional<IdempotencyKey> key{};    // a workload already created with it is the outcome
  std::optional<LocalUser> quota_user{};  // a client with the role `run`: its quota applies
  std::string origin = kOriginRest;
};
struct PatchWorkload {
  WorkloadId id;
  SpecPatch patch;
  IfRevision if_revision{};
  std::optional<LocalUser> quota_user{};  // as in CreateWorkload
};
struct DeleteWorkload {
  WorkloadId id;
  IfRevision if_revision{};
};
using PutWorkload = plan::Put;
using Command = std::variant<CreateWorkload, PatchWorkload, PutWorkload, DeleteWorkload>;

// The unit or cgroup that a new workload names.
std::optional<cpuset::Target> new_group(const Command& command);
// Its request for CPUs of a pool, the first of a list; null: it has none.
const CpuRequest* cpu_request_of(const Command& command);
// It requests CPUs of several pools, as a list.
bool lists_pools(const Command& command);

}  // namespace nrd
