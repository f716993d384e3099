// Sockets passed by systemd and accepted connections.
#include "api/http/listening_socket.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace nrd::listening_socket_test {

using http::ListeningSocket;
using http::Peer;

namespace {

// As systemd does for "ListenStream=8443": both families.
UniqueFd a_socket_of_both_families() {
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  const int no = 0;
  REQUIRE(::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(fd.get(), 8) == 0);
  return fd;
}

UniqueFd connected_to(const char* address, uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  REQUIRE(::inet_pton(AF_INET, address, &to.sin_addr) == 1);
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

}  // namespace

TEST_CASE("on a dual-stack socket an IPv4 client is limited by its own address") {
  const auto listener = http::adopt_listener(a_socket_of_both_families());
  REQUIRE(listener);
  CHECK(listener->kind == Peer::Transport::Tls);
  const UniqueFd client = connected_to("127.0.0.1", http::port_of(*listener));
  const auto accepted = http::accept_next(*listener);
  REQUIRE(accepted);
  CHECK(accepted->client_key == "127.0.0.1");
  CHECK(accepted->peer.address.starts_with("127.0.0.1:"));
  CHECK(http::accept_next(*listener).error() == http::AcceptError::WouldBlock);
}

TEST_CASE("only a listening stream socket is adopted") {
  CHECK_FALSE(http::adopt_listener(UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))));
  CHECK_FALSE(http::adopt_listener(UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))));
  CHECK_FALSE(http::adopt_listener(UniqueFd()));
  UniqueFd packets(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(::bind(packets.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) == 0);
  REQUIRE(::listen(packets.get(), 8) == 0);
  CHECK_FALSE(http::adopt_listener(std::move(packets)));
}

}  // namespace nrd::listening_socket_test
