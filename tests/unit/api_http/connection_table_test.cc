#include "api/http/connection_table.h"

#include <doctest/doctest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "api/http/limits.h"

namespace nrd::http::connection_table_test {

using nrd::UniqueFd;

namespace {

constexpr ConnectionTable::Time kNow{};
constexpr const char* kShare = "192.0.2.7";

// The maximum number of connections of one address, each with a complete request.
struct FullShare {
  FullShare() {
    for (uint64_t id = 1; id <= kConnectionsPerAddress; ++id) {
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
      clients.emplace_back(ends[0]);
      Connection& connection =
          connections.add(Connection(id, Stream(UniqueFd(ends[1])), Peer{}, kShare, kNow), Peer::Transport::Plain);
      ask(id);
      REQUIRE(connection.has_request());
    }
  }
  void ask(uint64_t id, const std::string& method = "POST") {
    const std::string request = method + " / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    REQUIRE(::send(clients.at(id - 1).get(), request.data(), request.size(), 0) == std::ssize(request));
    while (!connections.find(id)->advance(kNow)) {
    }
  }
  ConnectionTable::Admission place() const { return connections.admit(Peer::Transport::Plain, kShare); }

  std::vector<UniqueFd> clients;
  ConnectionTable connections;
};

}  // namespace

TEST_CASE("connections with queued requests are evicted for new ones") {
  FullShare full;
  CHECK_FALSE(full.place().is_refused);
  CHECK(full.place().evicts == 1);
}

TEST_CASE("a connection with a change in progress is not evicted") {
  FullShare full;
  for (uint64_t id = 1; id < kConnectionsPerAddress; ++id) full.connections.find(id)->take();
  CHECK(full.place().evicts == kConnectionsPerAddress);
  full.connections.find(kConnectionsPerAddress)->take();
  CHECK(full.place().is_refused);
}

TEST_CASE("reads in progress are evicted last and hung-up clients first") {
  FullShare full;
  for (uint64_t id = 1; id <= kConnectionsPerAddress; ++id) full.connections.find(id)->take();
  REQUIRE(full.place().is_refused);

  Connection& reads = *full.connections.find(3);
  reads.say("HTTP/1.1 204 No Content\r\n\r\n", false, kNow);
  while (!reads.advance(kNow)) {
  }
  full.ask(3, "GET");
  CHECK(full.place().evicts == 3);  // waits for its turn
  reads.take();
  CHECK(full.place().evicts == 3);

  full.clients.at(4) = UniqueFd();
  full.connections.find(5)->check_hang_up();
  CHECK(full.connections.find(5)->has_hung_up());
  CHECK(full.place().evicts == 5);
}

TEST_CASE("idle connections are evicted before queued ones") {
  FullShare full;
  Connection& resting = *full.connections.find(7);
  resting.take();
  resting.say("HTTP/1.1 204 No Content\r\n\r\n", false, kNow);
  while (!resting.advance(kNow)) {
  }
  CHECK(full.place().evicts == 7);
}

TEST_CASE("above the limit of unread responses the slowest reader is reset") {
  using std::chrono::seconds;
  constexpr size_t kSize = size_t{1} << 20;
  constexpr uint64_t kSlowest = 17;
  FullShare full;
  for (uint64_t id = 1; id <= kUnreadLimit / kSize; ++id) {
    full.connections.find(id)->take();
    full.connections.find(id)->say(std::string(kSize, 'x'), false, kNow + seconds(id == kSlowest ? 0 : 1));
  }
  CHECK_FALSE(full.connections.slowest_reader_over_limit());
  full.connections.find(kConnectionsPerAddress)->take();
  full.connections.find(kConnectionsPerAddress)->say("x", false, kNow + seconds(1));
  CHECK(full.connections.slowest_reader_over_limit() == kSlowest);
}

TEST_CASE("a client has a minute for a response, however slowly it reads") {
  using std::chrono::seconds;
  FullShare full;
  Connection& slow = *full.connections.find(1);
  slow.take();
  slow.say(std::string(size_t{32} << 20, 'x'), false, kNow);
  std::vector<char> second(size_t{256} << 10);
  seconds passed{0};
  for (; slow.deadline() > kNow + passed; ++passed) {
    CHECK(::recv(full.clients[0].get(), second.data(), second.size(), passed == seconds(0) ? MSG_PEEK : 0) != 0);
    while (!slow.advance(kNow + passed)) {
    }
  }
  CHECK(passed == kAnswerDeadline);
  slow.expire(kNow + passed);
  CHECK(slow.phase() == Connection::Phase::Closed);
}

TEST_CASE("of pipelined requests at most 16 KiB are read ahead") {
  FullShare full;
  Connection& client = *full.connections.find(1);
  client.take();
  client.say("HTTP/1.1 204 No Content\r\n\r\n", false, kNow);
  const std::string sent = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(size_t{64} << 10, 'x');
  REQUIRE(::send(full.clients[0].get(), sent.data(), sent.size(), 0) == std::ssize(sent));
  while (!client.advance(kNow)) {
  }
  REQUIRE(client.has_request());
  int left = 0;
  REQUIRE(::ioctl(client.fd(), FIONREAD, &left) == 0);
  CHECK(std::ssize(sent) - left <= 16 << 10);
}

}  // namespace nrd::http::connection_table_test
