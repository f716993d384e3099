// The client of a request, and the workloads and allocations that it may use.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/client.h"
#include "base/origin.h"
#include "engine/resolve_owner.h"

namespace nrd {

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
