// The server on a real socket, with a client that sends and receives raw bytes.
#include "api/http/server.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/http/limits.h"
#include "tests/wire/tcp_client.h"

namespace nrd::server_test {

using namespace std::chrono_literals;
using http::Handler;
using http::Reply;
using http::Request;
using http::Response;
using http::Server;

namespace {

std::unique_ptr<Server> serve(Handler handler) {
  ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
  auto server = Server::start({.plain = http::TcpEndpoint{.address = "127.0.0.1", .port = 0}}, std::move(handler));
  REQUIRE(server);
  return std::move(*server);
}

// Echoes the request.
void echo(const Request& request, Reply reply) {
  std::string body = request.method + " " + request.path + " [" + request.content_type + "] [" + request.accept + "]";
  for (const auto& [key, value] : request.query) body += " " + key + "=" + value;
  if (!request.body.empty()) body += " " + std::to_string(request.body.size()) + " bytes";
  reply.send({.status = 200, .content_type = "text/plain", .body = std::move(body), .headers = {}});
}

struct Heard {
  std::string head;  // status line and headers
  std::string body;
  int status() const { return head.size() > 12 ? std::atoi(head.c_str() + 9) : 0; }
  bool has(const std::string& line) const { return head.find("\r\n" + line + "\r\n") != std::string::npos; }
};

class HttpClient : public wire::TcpClient {
 public:
  explicit HttpClient(uint16_t port) : TcpClient(port) { REQUIRE(is_open()); }

  // One answer; nullopt if the connection ends instead.
  std::optional<Heard> capture() {
    size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == input_.npos) {
      if (!read_more()) return std::nullopt;
    }
    Heard heard{input_.substr(0, end + 2), {}};
    size_t size = 0;
    if (const size_t at = heard.head.find("Content-Length: "); at != std::string::npos) {
      size = std::stoul(heard.head.substr(at + 16));
    }
    while (input_.size() < end + 4 + size) {
      if (!read_more()) return std::nullopt;
    }
    heard.body = input_.substr(end + 4, size);
    input_.erase(0, end + 4 + size);
    return heard;
  }

  bool is_closed() { return input_.empty() && !read_more(); }

  // All that comes until the connection ends.
  std::string rest() {
    while (read_more()) {
    }
    return std::exchange(input_, {});
  }

  Heard ask(std::string_view bytes) {
    say(bytes);
    auto heard = capture();
    REQUIRE(heard);
    return *heard;
  }

 private:
  bool read_more() {
    pollfd wait{fd(), POLLIN, 0};
    REQUIRE(::poll(&wait, 1, 10'000) == 1);
    const std::string bytes = hear(0);
    input_ += bytes;
    return !bytes.empty();
  }

  std::string input_;
};

std::string a_get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}

std::string a_post(const std::string& body, const std::string& headers = "Content-Type: application/json\r\n") {
  return "POST /x HTTP/1.1\r\nHost: localhost\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace

TEST_CASE("one connection serves many requests") {
  const auto server = serve(echo);
  HttpClient client(server->plain_port());
  for (int i = 0; i < 20; ++i) {
    const Heard heard = client.ask(a_get("/v1/workloads"));
    CHECK(heard.status() == 200);
    CHECK(heard.head.find("Connection:") == std::string::npos);
    CHECK(heard.has("Content-Type: text/plain"));
    CHECK(heard.body == "GET /v1/workloads [] []");
  }
}

TEST_CASE("a connection closes on request and after HTTP/1.0") {
  const auto server = serve(echo);
  for (const std::string& request : {a_get("/", "Connection: close\r\n"), std::string("GET / HTTP/1.0\r\n\r\n")}) {
    HttpClient client(server->plain_port());
    const Heard heard = client.ask(request);
    CHECK(heard.status() == 200);
    CHECK(heard.has("Connection: close"));
    CHECK(client.is_closed());
  }
}

TEST_CASE("Content-Type and Accept reach the handler unchanged") {
  const auto server = serve(echo);
  HttpClient client(server->plain_port());
  CHECK(client
            .ask(a_post("{}",
                        "Content-Type: application/json; charset=utf-8\r\nAccept: application/problem+json, "
                        "text/plain;q=0.5\r\n"))
            .body == "POST /x [application/json; charset=utf-8] [application/problem+json, text/plain;q=0.5] 2 bytes");
}

TEST_CASE("a path that is too long or not properly encoded is refused") {
  const auto server = serve(echo);
  CHECK(HttpClient(server->plain_port()).ask(a_get("/%zz")).status() == 400);
  CHECK(HttpClient(server->plain_port()).ask(a_get(std::string(60'000, '/'))).status() == 414);
}

TEST_CASE("a body of 64 KiB is read and a larger one is a 413") {
  const auto server = serve(echo);
  HttpClient client(server->plain_port());
  CHECK(client.ask(a_post(std::string(http::kBodyLimit, 'x'))).status() == 200);
  const Heard heard = client.ask(a_post(std::string(http::kBodyLimit + 1, 'x')));
  CHECK(heard.status() == 413);
  CHECK(heard.body == "The body is larger than 65536 bytes.\n");
  CHECK(client.is_closed());
  CHECK(HttpClient(server->plain_port()).ask(a_post(std::string(3 << 20, 'x'))).status() == 413);
}

TEST_CASE("a body in several packets is read completely") {
  const auto server = serve(echo);
  HttpClient client(server->plain_port());
  const std::string request = a_post("{\"a\": 1}");
  for (const char c : request) client.say({&c, 1});
  CHECK(client.capture()->body == "POST /x [application/json] [] 8 bytes");
}

TEST_CASE("response headers with any name are sent") {
  const auto server = serve([](const Request&, Reply reply) {
    reply.send({.status = 405, .content_type = {}, .body = {}, .headers = {{"Allow", "GET, POST"}, {"X-Nrd", "1"}}});
  });
  const Heard heard = HttpClient(server->plain_port()).ask(a_get("/"));
  CHECK(heard.status() == 405);
  CHECK(heard.has("Allow: GET, POST"));
  CHECK(heard.has("X-Nrd: 1"));
  CHECK(heard.head.find("Content-Type") == std::string::npos);
}

TEST_CASE("a HEAD has no body, also if it is refused") {
  const auto server = serve(echo);
  for (const auto& [head, first, length] :
       {std::array{"HTTP/1.0\r\nHost: localhost", "HTTP/1.1 200 OK\r\n", "\r\nContent-Length: 12\r\n"},
        std::array{"HTTP/1.1\r\nHost: rebound.example", "HTTP/1.1 421 ", "\r\nContent-Length: "}}) {
    HttpClient client(server->plain_port());
    client.say("HEAD / " + std::string(head) + "\r\n\r\n");
    const auto all = client.rest();
    CHECK(all.starts_with(first));
    CHECK(all.find(length) != std::string::npos);
    CHECK(all.ends_with("\r\n\r\n"));
  }
}

TEST_CASE("an exception in a handler is a 500 without details") {
  const auto server = serve([](const Request& request, Reply) {
    if (request.path == "/int") throw 42;
    throw std::runtime_error("secret /etc/path");
  });
  for (const std::string path : {"/", "/int"}) {
    HttpClient client(server->plain_port());
    const Heard heard = client.ask(a_get(path));
    CHECK(heard.status() == 500);
    CHECK(heard.body == "Internal error.\n");
  }
}

TEST_CASE("a second answer to one request is not sent") {
  const auto server = serve([](const Request&, Reply reply) {
    reply.send({.status = 200, .content_type = "text/plain", .body = "first", .headers = {}});
    reply.send({.status = 200, .content_type = "text/plain", .body = "second", .headers = {}});
  });
  HttpClient client(server->plain_port());
  CHECK(client.ask(a_get("/")).body == "first");
  CHECK(client.ask(a_get("/")).body == "first");
}

TEST_CASE("garbage is refused or ends the connection, and others are served") {
  const auto server = serve(echo);
  for (const std::string& bytes : {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + "\r\n\r\n",
                                   std::string("NONSENSE / HTTP/1.1\r\n\r\n"), std::string("GET\r\n\r\n"),
                                   std::string("GET / HTTP/9.9\r\n\r\n"), std::string("\r\n\r\n\r\n\r\n")}) {
    HttpClient client(server->plain_port());
    client.say(bytes);
    client.say_no_more();
    if (const auto heard = client.capture()) CHECK(heard->status() >= 400);
  }
  CHECK(HttpClient(server->plain_port()).ask(a_get("/")).status() == 200);
}

TEST_CASE("concurrent clients get their own responses") {
  const auto server = serve(echo);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&server, &wrong, c] {
      HttpClient client(server->plain_port());
      for (int i = 0; i < 50; ++i) {
        const std::string path = "/" + std::to_string(c) + "/" + std::to_string(i);
        if (client.ask(a_get(path)).body != "GET " + path + " [] []") ++wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(wrong == 0);
}

// A handler that holds replies until released.
struct Later {
  std::mutex lock;
  std::condition_variable came;
  std::vector<Reply> replies;

  Handler handler() {
    return [this](const Request&, Reply reply) {
      const std::lock_guard hold(lock);
      replies.push_back(std::move(reply));
      came.notify_all();
    };
  }
  void wait_for(size_t count) {
    std::unique_lock hold(lock);
    REQUIRE(came.wait_for(hold, 10s, [&] { return replies.size() == count; }));
  }
  void answer_all() {
    const std::lock_guard hold(lock);
    for (Reply& reply : replies) {
      reply.send({.status = 201, .content_type = "text/plain", .body = "later", .headers = {}});
    }
    replies.clear();
  }
};

TEST_CASE("an answer may come from another thread") {
  Later later;
  const auto server = serve(later.handler());
  HttpClient client(server->plain_port());
  for (int i = 0; i < 20; ++i) {
    client.say(a_get("/"));
    later.wait_for(1);
    later.answer_all();
    const auto heard = client.capture();
    REQUIRE(heard);
    CHECK(heard->status() == 201);
    CHECK(heard->body == "later");
  }
}

TEST_CASE("draining refuses new requests and waits for accepted ones") {
  Later later;
  const auto server = serve([answer_later = later.handler()](const Request& request, Reply reply) {
    if (request.path == "/later") return answer_later(request, std::move(reply));
    echo(request, std::move(reply));
  });
  HttpClient accepted(server->plain_port());
  HttpClient late(server->plain_port());
  accepted.say(a_get("/later"));
  later.wait_for(1);
  std::thread draining([&server] { server->drain(10s); });
  while (HttpClient(server->plain_port()).ask(a_get("/")).status() != 503) {  // until the drain has begun
  }
  CHECK(late.ask(a_get("/")).body == "The service is stopping.\n");
  later.answer_all();
  draining.join();
  CHECK(accepted.capture()->status() == 201);
}

TEST_CASE("draining ends at its deadline") {
  Later later;
  const auto server = serve(later.handler());
  HttpClient client(server->plain_port());
  client.say(a_get("/"));
  later.wait_for(1);
  server->drain(50ms);
  CHECK(later.replies.size() == 1);
  later.answer_all();
}

TEST_CASE("deferred functions do not run after a drain and their requests are answered") {
  std::promise<std::pair<Request, std::shared_ptr<Reply>>> accepted;
  const auto server = serve([&accepted](const Request& request, Reply reply) {
    accepted.set_value({request, std::make_shared<Reply>(std::move(reply))});
  });
  HttpClient client(server->plain_port());
  client.say(a_get("/"));
  auto [request, reply] = accepted.get_future().get();
  server->drain(1ms);
  std::atomic<bool> was_done = false;
  request.later([&was_done, answer = std::move(reply)] {
    was_done = true;
    answer->send({.status = 200, .content_type = {}, .body = {}, .headers = {}});
  });
  CHECK(client.capture()->status() == 500);
  CHECK_FALSE(was_done);
}

TEST_CASE("a response after the server is destroyed is dropped") {
  Later later;
  {
    const auto server = serve(later.handler());
    HttpClient client(server->plain_port());
    client.say(a_get("/"));
    later.wait_for(1);
  }
  later.answer_all();
}

TEST_CASE("the error for a port in use names it") {
  const auto first = serve(echo);
  const auto second =
      Server::start({.plain = http::TcpEndpoint{.address = "127.0.0.1", .port = first->plain_port()}}, echo);
  REQUIRE_FALSE(second);
  CHECK(second.error().message.starts_with("cannot listen on 127.0.0.1:" + std::to_string(first->plain_port())));
  CHECK_FALSE(Server::start({.plain = http::TcpEndpoint{.address = "not an address", .port = 0}}, echo));
}

}  // namespace nrd::server_test
