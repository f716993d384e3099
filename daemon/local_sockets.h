// What [[server.sockets]] comes to on this node: where clients connect, who can, and who is what there.
#pragma once

#include <vector>

#include "api/auth/access.h"
#include "api/http/endpoints.h"
#include "daemon/config.h"

namespace nrd::daemon {

// Both in the order of the configuration.
struct LocalSocketAccess {
  std::vector<http::UnixEndpoint> places;
  std::vector<auth::SocketRules> rules;
};

// Whom this node does not know is left out, with a line in the journal. A file has one owner, one group and the others:
// where it must let in more, it lets everybody connect, and each request is judged by who connected.
LocalSocketAccess local_socket_access(const std::vector<LocalSocket>& sockets);

}  // namespace nrd::daemon
