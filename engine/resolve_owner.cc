#include "engine/resolve_owner.h"

#include <string>

namespace nrd {

Result<Owner> find_caller(const OwnerWatcher& owners, const std::optional<Caller>& caller) {
  if (!caller || caller->pid <= 0) {
    return fail_at(ErrorCode::BadRequest, "/owner/caller", "the calling process is known only on Unix sockets",
                   "{\"pid\": 4711}");
  }
  Result<Owner> found = owners.identify(caller->pid);
  if (found && found->start == caller->started) return found;
  return fail_at(ErrorCode::BadRequest, "/owner/caller", "the process that opened this connection has exited",
                 "a connection opened by the calling process");
}

Result<Owner> find_owner(const OwnerWatcher& owners, const OwnerRequest& requested,
                         const std::optional<Caller>& caller) {
  if (requested.pid) {
    Result<Owner> owner = owners.identify(*requested.pid);
    if (!owner || !requested.start || *requested.start == owner->start) return owner;
    return fail_at(ErrorCode::BadRequest, "/owner/start",
                   "process " + std::to_string(*requested.pid) +
                       " has a different start time; the client runs on another host or in another PID namespace");
  }
  return find_caller(owners, caller);
}

}  // namespace nrd
