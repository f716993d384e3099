#include "engine/requester.h"

namespace nrd {

std::optional<LocalUser> quota_user_of(const Requester& who) {
  if (!who.is_limited_to_own) return std::nullopt;
  return who.caller ? who.caller->user : LocalUser{};
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
