// Listening sockets, created by nrd or passed by systemd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/http/endpoints.h"
#include "api/http/message.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::http {

// A non-blocking listening socket.
struct ListeningSocket {
  Peer::Transport kind = Peer::Transport::Plain;
  UniqueFd fd;
  size_t socket = 0;        // as Peer::socket
  bool is_limited = false;  // as in UnixEndpoint
};

// `address`: numeric IPv4 or IPv6 ("127.0.0.1", "::1"; "::" is IPv6 only). Port 0: any free one.
Result<ListeningSocket> listen_on_tcp(Peer::Transport kind, const std::string& address, uint16_t port);

// Replaces a stale socket of a daemon that is gone, but nothing else.
Result<ListeningSocket> listen_on_unix(const UnixEndpoint& place);

// Sets owner and mode of the socket file, for other users than at start.
Result<void> permit(const UnixEndpoint& place);

// Adopts a socket from systemd. A Unix socket becomes a Unix listener, a TCP socket a TLS listener.
Result<ListeningSocket> adopt_listener(UniqueFd fd);

uint16_t port_of(const ListeningSocket& listener);
// The path of a Unix socket; empty for TCP.
std::string path_of(const ListeningSocket& listener);

// An accepted connection.
struct AcceptedSocket {
  UniqueFd fd;
  Peer peer;
  std::string client_key;  // identifies the client in limits: IPv4 address, IPv6 /64, uid, uid on a limited socket
};

enum class AcceptError {
  WouldBlock,  // no pending connection
  Aborted,     // the client disconnected before accept
  OutOfFiles,  // out of descriptors or memory
  Broken,      // the listener itself failed
};

// Accepts the next connection as a non-blocking socket.
tl::expected<AcceptedSocket, AcceptError> accept_next(const ListeningSocket& listener);

}  // namespace nrd::http
