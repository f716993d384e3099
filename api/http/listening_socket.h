// The sockets that clients come to: made here, or passed by systemd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/http/endpoints.h"
#include "api/http/message.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::http {

// A listening socket that does not block.
struct ListeningSocket {
  Peer::Transport kind = Peer::Transport::Plain;
  UniqueFd fd;
  size_t socket = 0;  // as Peer::socket
};

// `address`: numeric IPv4 or IPv6 ("127.0.0.1", "::1"; "::" is IPv6 only). Port 0: any free one.
Result<ListeningSocket> listen_on_tcp(Peer::Transport kind, const std::string& address, uint16_t port);

// Replaces what a dead daemon left there, but nothing else.
Result<ListeningSocket> listen_on_unix(const UnixEndpoint& place);

// A listening socket that somebody else made. A Unix socket is a Unix listener; a TCP socket is one for TLS.
Result<ListeningSocket> adopt_listener(UniqueFd fd);

uint16_t port_of(const ListeningSocket& listener);
// Of a Unix socket; empty without one.
std::string path_of(const ListeningSocket& listener);

// A client that has come in.
struct AcceptedSocket {
  UniqueFd fd;
  Peer peer;
  std::string share;  // the same for all connections that one client can make: address, IPv6 /64, user
};

enum class AcceptError {
  Nobody,       // waits
  LeftAlready,  // it was one, and it is gone
  OutOfFiles,   // there is one, but no descriptor or memory for it
  Broken,       // the listener itself does not work
};

// Takes the next client, with everything set up to serve it without blocking.
tl::expected<AcceptedSocket, AcceptError> accept_next(const ListeningSocket& listener);

}  // namespace nrd::http
