// Endpoints from the configuration and sockets passed by systemd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace nrd::http {

struct TcpEndpoint {
  std::string address;  // numeric
  uint16_t port = 0;    // 0: any free one
};

struct UnixEndpoint {
  enum class Connects { Root, Group, Everybody };
  std::string path;
  std::string name{};  // FileDescriptorName= of the socket from systemd; empty: matched by path
  Connects connects = Connects::Root;
  gid_t group = 0;          // with Connects::Group: may connect, in addition to root
  bool is_limited = false;  // its clients count apart: they take no connections from the same users on other sockets
};

// A listening socket from systemd.
struct PassedSocket {
  UniqueFd fd;
  std::string name;
};

// True for a numeric address, of IPv4 or IPv6.
bool is_address(const std::string& text);

// True for a numeric loopback address: 127.0.0.0/8 or ::1.
bool is_loopback(const std::string& address);

}  // namespace nrd::http
