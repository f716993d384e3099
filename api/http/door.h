// The sockets that clients come to: made here, or passed by systemd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/http/message.h"
#include "api/http/places.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::http {

// A listening socket that does not block.
struct Door {
  Peer::Door kind = Peer::Door::Plain;
  UniqueFd fd;
  size_t socket = 0;  // as Peer::socket
};

// `address`: numeric IPv4 or IPv6 ("127.0.0.1", "::1"; "::" is IPv6 only). Port 0: any free one.
Result<Door> open_tcp_door(Peer::Door kind, const std::string& address, uint16_t port);

// Replaces what a dead daemon left there, but nothing else.
Result<Door> open_unix_door(const UnixPlace& place);

// A listening socket that somebody else made. A Unix socket is a Unix door; a TCP socket is one for TLS.
Result<Door> adopt_door(UniqueFd fd);

uint16_t port_of(const Door& door);
// Of a Unix socket; empty without one.
std::string path_of(const Door& door);

// A client that has come in.
struct Caller {
  UniqueFd fd;
  Peer peer;
  std::string share;  // the same for all connections that one client can make: address, IPv6 /64, user
};

enum class NoCaller {
  Nobody,       // waits
  LeftAlready,  // it was one, and it is gone
  OutOfFiles,   // there is one, but no descriptor or memory for it
  Broken,       // the door itself does not work
};

// Takes the next client, with everything set up to serve it without blocking.
tl::expected<Caller, NoCaller> next_caller(const Door& door);

}  // namespace nrd::http
