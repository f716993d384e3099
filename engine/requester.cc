#include "engine/requester.h"

#include <fmt/core.h>

#include <string>

#include "engine/owner_watcher.h"

namespace nrd {
namespace {

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

}  // namespace

std::optional<LocalUser> quota_user_of(const Requester& who) {
  if (!who.is_limited_to_own) return std::nullopt;
  return who.caller ? who.caller->user : LocalUser{};
}

Result<Owner> find_owner(const OwnerWatcher& owners, const OwnerRequest& requested,
                         const std::optional<Caller>& caller) {
  if (requested.pid) {
    Result<Owner> owner = owners.identify(*requested.pid);
    if (!owner || !requested.start || *requested.start == owner->start) return owner;
    return fail_at(
        ErrorCode::BadRequest, "/owner/start",
        fmt::format(
            "process {} has a different start time; the client runs on another host or in another PID namespace",
            *requested.pid));
  }
  return find_caller(owners, caller);
}

Result<std::optional<Owner>> only_owner_of(const OwnerWatcher& owners, const Requester& who) {
  if (!who.is_limited_to_own) return std::optional<Owner>();
  return find_caller(owners, who.caller).map([](const Owner& found) { return std::optional(found); });
}

Result<std::optional<Owner>> check_own(const OwnerWatcher& owners, const Requester& who,
                                       const std::optional<OwnerRequest>& owner) {
  if (!who.is_limited_to_own) return std::optional<Owner>();
  const Result<Owner> caller = find_caller(owners, who.caller);
  if (owner && !owner->cgroup && (!owner->pid || (caller && *owner->pid == caller->pid))) {
    return caller.map([](const Owner& found) { return std::optional(found); });
  }
  return fail_at(ErrorCode::Forbidden, "/owner", "the run role may only name the calling process",
                 "{\"caller\": true}");
}

OwnerFilter::OwnerFilter(const OwnerWatcher& owners, const Requester& who) : is_limited_(who.is_limited_to_own) {
  if (!is_limited_) return;
  if (const Result<Owner> caller = find_caller(owners, who.caller)) caller_ = *caller;
}

}  // namespace nrd
