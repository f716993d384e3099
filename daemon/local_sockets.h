// Resolves [[server.sockets]] on this node: paths, file permissions and the roles of users.
#pragma once

#include <optional>
#include <vector>

#include "api/auth/access.h"
#include "api/http/endpoints.h"
#include "base/result.h"

namespace nrd::daemon {

struct LocalSocket;

// Both in configuration order.
struct LocalSocketAccess {
  std::vector<http::UnixEndpoint> places;
  std::vector<auth::SocketRules> rules;
  std::optional<Error> failure{};  // the last lookup that failed; its user or group is left out
};

// Skips unknown users and groups, with a log line. A socket file has one owner, one group and others: if it needs to
// admit more, everyone may connect, and each request is authorized by the peer's credentials.
LocalSocketAccess local_socket_access(const std::vector<LocalSocket>& sockets);

}  // namespace nrd::daemon
