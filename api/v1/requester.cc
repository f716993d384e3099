#include "api/v1/requester.h"

#include "engine/requester.h"

namespace nrd::v1 {

Requester requester_of(const http::Request& request) {
  Requester who{.client = request.client,
                .is_limited_to_own = request.is_limited_to_own,
                .origin = request.origin,
                .may_launch = request.may_launch,
                .later = request.later};
  if (request.peer && request.peer->credentials) {
    const auto& [uid, pid, started, groups] = *request.peer->credentials;
    who.caller = Caller{.pid = pid, .started = started, .user = {.uid = uid, .groups = groups}};
  }
  return who;
}

}  // namespace nrd::v1
