#include "daemon/local_sockets.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/log.h"
#include "daemon/accounts.h"
#include "daemon/config.h"

namespace nrd::daemon {
namespace {

void add_account(const std::string& name, auth::Locals& locals, std::optional<Error>& failure) {
  const Result<std::optional<id_t>> found = find_account(name, "server.sockets");
  if (!found) {
    log::error("ACCOUNT_LOOKUP_FAILED", "cannot look up a user or group of a local socket; access denied",
               {{"NAME", name}, {"DETAIL", found.error().detail}});
    failure = found.error();
  } else if (!*found) {
    log::notice("ACCOUNT_NOT_FOUND", "unknown user or group configured for a local socket; ignored", {{"NAME", name}});
  } else {
    (name.starts_with('@') ? locals.groups : locals.users).push_back(**found);
  }
}

auth::Locals locals_of(const std::vector<std::string>& names, std::optional<Error>& failure) {
  auth::Locals locals;
  for (const std::string& name : names) add_account(name, locals, failure);
  return locals;
}

http::UnixEndpoint place_of(const LocalSocket& socket, const auth::SocketRules& rules) {
  http::UnixEndpoint place{.path = socket.path, .name = socket.name, .is_limited = socket.allow.has_value()};
  std::set<gid_t> groups;
  bool has_users = false;
  for (const auth::Locals* locals : {&rules.admin, &rules.user, &rules.run}) {
    groups.insert(locals->groups.begin(), locals->groups.end());
    has_users = has_users || std::ranges::any_of(locals->users, [](uid_t user) { return user != 0; });
  }
  if (has_users || groups.size() > 1) {
    place.connects = http::UnixEndpoint::Connects::Everybody;
  } else if (groups.size() == 1) {
    place.connects = http::UnixEndpoint::Connects::Group;
    place.group = *groups.begin();
  }
  return place;
}

}  // namespace

LocalSocketAccess local_socket_access(const std::vector<LocalSocket>& sockets) {
  LocalSocketAccess access;
  for (const LocalSocket& socket : sockets) {
    access.rules.push_back({.admin = locals_of(socket.admin, access.failure),
                            .user = locals_of(socket.user, access.failure),
                            .run = locals_of(socket.run, access.failure),
                            .origin = socket.origin,
                            .allow = socket.allow});
    access.places.push_back(place_of(socket, access.rules.back()));
  }
  return access;
}

}  // namespace nrd::daemon
