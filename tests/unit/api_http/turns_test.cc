// The order in which the server begins requests.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/http/server.h"
#include "tests/wire/tcp_client.h"

namespace nrd::turns_test {
namespace {

constexpr size_t kMany = 30;
constexpr in_addr_t kAnother = INADDR_LOOPBACK + 1;  // 127.0.0.2
constexpr int kTimeout = 30'000;                     // milliseconds

std::string a_get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"; }

// A server that is busy with a slow request until it is released, and notes the paths of all requests.
class BusyServer {
 public:
  BusyServer() {
    ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
    auto started = http::Server::start({.plain = http::TcpEndpoint{.address = "127.0.0.1", .port = 0}},
                                       [this](const http::Request& request, http::Reply reply) {
                                         if (request.path == "/slow") wait();
                                         begun_.push_back(request.path);
                                         reply.send({.status = 200, .content_type = {}, .body = {}, .headers = {}});
                                       });
    REQUIRE(started);
    server_ = std::move(*started);
  }

  uint16_t port() const { return server_->plain_port(); }
  // To be called once.
  void make_busy(wire::TcpClient& client) {
    REQUIRE(client.say(a_get("/slow")));
    busy_.wait();
  }
  void release() { is_released_.set_value(); }
  // Ends the server.
  std::vector<std::string> begun() {
    server_.reset();
    return begun_;
  }

 private:
  void wait() {
    is_busy_.set_value();
    released_.wait();
  }

  std::promise<void> is_busy_, is_released_;
  std::future<void> busy_ = is_busy_.get_future(), released_ = is_released_.get_future();
  std::vector<std::string> begun_;  // event loop's thread only
  std::unique_ptr<http::Server> server_;
};

using Clients = std::vector<std::unique_ptr<wire::TcpClient>>;

Clients clients_of(const BusyServer& server) {
  Clients many;
  while (many.size() < kMany) many.push_back(std::make_unique<wire::TcpClient>(server.port()));
  return many;
}

void ask(const Clients& many, const std::string& path) {
  for (const auto& client : many) REQUIRE(client->say(a_get(path)));
}

size_t before_the_one(const std::vector<std::string>& begun) {
  const auto one = std::ranges::find(begun, "/one");
  REQUIRE(one != begun.end());
  return static_cast<size_t>(std::count(begun.begin(), one, "/many"));
}

}  // namespace

TEST_CASE("a client waits for one request of another with many connections") {
  BusyServer server;
  wire::TcpClient slow(server.port());
  const Clients many = clients_of(server);
  wire::TcpClient one(server.port(), kAnother);
  ask(many, "/hello");
  for (const auto& client : many) REQUIRE_FALSE(client->hear(kTimeout).empty());
  REQUIRE(one.say(a_get("/hello")));
  REQUIRE_FALSE(one.hear(kTimeout).empty());
  server.make_busy(slow);
  ask(many, "/many");
  REQUIRE(one.say(a_get("/one")));
  server.release();
  REQUIRE_FALSE(one.hear(kTimeout).empty());
  CHECK(before_the_one(server.begun()) <= 1);
}

TEST_CASE("a client waits for one request of another that opens many connections") {
  BusyServer server;
  wire::TcpClient slow(server.port());
  server.make_busy(slow);
  const Clients many = clients_of(server);
  ask(many, "/many");
  wire::TcpClient one(server.port(), kAnother);
  REQUIRE(one.say(a_get("/one")));
  server.release();
  REQUIRE_FALSE(one.hear(kTimeout).empty());
  CHECK(before_the_one(server.begun()) <= 1);
}

}  // namespace nrd::turns_test
