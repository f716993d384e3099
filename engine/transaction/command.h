// A change of the workloads that a client asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "engine/model/workload.h"
#include "engine/plan/put.h"

namespace nrd {

// Apply only if the workload has one of these revisions, else ErrorCode::Stale; nullopt: any revision.
using IfRevision = std::optional<std::vector<uint64_t>>;

struct IdempotencyKey {
  std::string key;
  std::string request_hash;  // the same key with a different request is a client error
  std::string client{};      // who sent it, not stored: keys from before a start are of one client
};

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
  std::optional<Owner> only{};            // the client is limited to workloads of this owner
};
struct DeleteWorkload {
  WorkloadId id;
  IfRevision if_revision{};
  std::optional<Owner> only{};  // as in PatchWorkload
};
using PutWorkload = plan::Put;
using Command = std::variant<CreateWorkload, PatchWorkload, PutWorkload, DeleteWorkload>;

// The unit or cgroup that a new workload names.
std::optional<cpuset::Target> new_group(const Command& command);
// Its request for CPUs of a pool, the first of a list; null: it has none.
const CpuRequest* cpu_request_of(const Command& command);
// It requests CPUs of several pools, as a list.
bool lists_pools(const Command& command);

// A change that binds memory of a running target. Its memory must move before it holds, so a part of it waits:
//
//   change       at once                           when memory has moved
//   creation     the workload, memory not bound    the binding of its memory
//   any other    nothing                           all of it
struct Deferred {
  Command command;  // applied when memory has moved
  cpuset::MemoryChange move;
  bool only_binds;
};

// The part of `command`, which creates a workload, that is done at once.
Command without_binding(Command command);
// The part of `command` that waits. `created`: the workload that the other part has created; nullopt: it existed.
Command binding_of(Command command, std::optional<WorkloadId> created);

}  // namespace nrd
