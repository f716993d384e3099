// Resolves the owner process that a client names.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/workload.h"
#include "engine/owner_watcher.h"

namespace nrd {

struct OwnerRequest {
  std::optional<pid_t> pid;  // nullopt: the caller, or the cgroup
  std::optional<uint64_t> start{};
  std::optional<CgroupOwner> cgroup{};
  friend bool operator==(const OwnerRequest&, const OwnerRequest&) = default;
};

// The process at the other end of a Unix socket.
struct Caller {
  pid_t pid = 0;         // 0: not visible in this PID namespace
  uint64_t started = 0;  // when it connected: its start time
  LocalUser user{};
};

// BadRequest if the process has exited or the transport does not identify it.
Result<Owner> find_caller(const OwnerWatcher& owners, const std::optional<Caller>& caller);
// BadRequest at /owner if the process does not exist or has a different start time.
Result<Owner> find_owner(const OwnerWatcher& owners, const OwnerRequest& requested,
                         const std::optional<Caller>& caller);

}  // namespace nrd
