// A client of raw bytes for the programs of this folder.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace nrd::wire {

class TcpClient {
 public:
  // `from`: another loopback address is another client.
  explicit TcpClient(uint16_t port, in_addr_t from = INADDR_LOOPBACK)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in own = at(from, 0);
    const sockaddr_in to = at(INADDR_LOOPBACK, port);
    is_open_ =
        (from == INADDR_LOOPBACK || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0) &&
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }

  int fd() const { return socket_.get(); }
  bool is_open() const { return is_open_; }

  bool say(std::string_view bytes) {
    while (is_open_ && !bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return is_open_;
  }

  void say_no_more() { ::shutdown(socket_.get(), SHUT_WR); }

  // Some bytes; empty at the end, or if none come in time.
  std::string hear(int milliseconds) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, milliseconds) != 1) return {};
    std::string bytes(size_t{64} << 10, '\0');
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }

  // Closes with a RST; the port is free again at once on both sides.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_ = UniqueFd();
  }

 private:
  static sockaddr_in at(in_addr_t address, uint16_t port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(address);
    return place;
  }

  UniqueFd socket_;
  bool is_open_ = false;
};

}  // namespace nrd::wire
