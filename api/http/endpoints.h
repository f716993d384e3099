// Where clients come in, as the configuration and systemd name it.
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
  std::string name{};  // of the descriptor that systemd passes for it (FileDescriptorName=); empty: its path says
  Connects connects = Connects::Root;
  gid_t group = 0;  // with Connects::Group: besides root
};

// A listening socket from systemd.
struct PassedSocket {
  UniqueFd fd;
  std::string name;
};

// Whether a numeric address is one of this host alone: 127.0.0.0/8 or ::1.
bool is_loopback(const std::string& address);

}  // namespace nrd::http
