// Creating a workload under an id of the client's choice, or replacing the one that has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/fwd.h"
#include "engine/model/workload.h"

namespace nrd::plan {

struct Put {
  Spec spec;  // given_id: the id, which may be a number that nrd assigned
  std::string origin = kOriginRest;
  bool is_forced = false;                              // also if the workload has another origin, which it keeps
  bool must_be_new = false;                            // else ErrorCode::Stale
  std::optional<WorkloadId> known{};                   // must still be the workload with this id, else ErrorCode::Stale
  std::optional<std::vector<uint64_t>> if_revision{};  // it must have one of these, else ErrorCode::Stale
  std::optional<Owner> only{};                         // the client is limited to workloads of this owner
  std::optional<LocalUser> quota_user{};               // and by the quota of this user
};

// The workload to replace; nullptr: create one. Refuses if the conditions of `wanted` do not hold.
Result<const Workload*> target_of(const NodeState& state, const Put& wanted);
// All workloads after the change; `id` is that of a new one. A replacement by the same request returns them as they
// are.
Result<Workloads> put(const NodeState& state, WorkloadId id, const Put& wanted, Time now);

}  // namespace nrd::plan
