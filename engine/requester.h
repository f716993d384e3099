// The client of a request, the owner process that it names, and the workloads and allocations that it may use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/client.h"
#include "base/origin.h"
#include "base/owner.h"
#include "base/result.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/workload.h"

namespace nrd {

class OwnerWatcher;

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

struct Requester {
  Client client;
  std::optional<Caller> caller{};  // on a Unix socket
  bool is_limited_to_own = false;  // to workloads and allocations that the caller owns, and to its tasks
  // Of what it creates. An administrator may change what has another one, by ?force, if its own is REST.
  std::string origin = kOriginRest;
  bool may_launch = true;  // request a launch environment for a workload
  // Runs a function soon on the thread of the request; drops it if the service is stopping.
  std::function<void(std::function<void()>)> later{};
};

// The user whose quota of CPUs applies; nullopt: the client is not limited.
std::optional<LocalUser> quota_user_of(const Requester& who);

// BadRequest at /owner if the process does not exist or has a different start time, or is a caller that has exited or
// that the transport does not identify.
Result<Owner> find_owner(const OwnerWatcher& owners, const OwnerRequest& requested,
                         const std::optional<Caller>& caller);

// The owner to whose workloads and allocations the client is limited; nullopt: not limited. BadRequest if it has
// exited.
Result<std::optional<Owner>> only_owner_of(const OwnerWatcher& owners, const Requester& who);

// Forbidden at /owner if the client is limited and would create something for another process. Otherwise the owner to
// which it is limited; nullopt: not limited.
Result<std::optional<Owner>> check_own(const OwnerWatcher& owners, const Requester& who,
                                       const std::optional<OwnerRequest>& owner);

// What exists, as far as a client may access it.
class OwnerFilter {
 public:
  OwnerFilter(const OwnerWatcher& owners, const Requester& who);
  bool admits(const std::optional<Owner>& owner) const { return !is_limited_ || (caller_ && owner == caller_); }

 private:
  bool is_limited_;
  std::optional<Owner> caller_{};  // nullopt: not limited, or the caller has exited
};

}  // namespace nrd
