// Requests that are nearly right, cut into segments at random, against the real listener and the real reading of
// workloads. Whatever comes, the server lives, answers with a status of its own, and serves the next client.
//
//   nrd-fuzz-mutated COUNT [SEED]
//
// Built with AddressSanitizer and UBSan in the dev preset; their reports end it. Exits with 1 if the server stops
// serving.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "api/http/server.h"
#include "base/cpu_set.h"
#include "base/json/reader.h"
#include "tests/wire/tcp_client.h"

namespace {

using nrd::http::Reply;
using nrd::http::Request;
using nrd::http::Server;
using nrd::wire::TcpClient;

const std::vector<std::string> kSeeds = {
    "GET /v1/workloads HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n",
    "POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 47\r\n\r\n"
    "{\"core_ids\":[\"4-7\"],\"cache\":{\"max\":2,\"min\":2}}",
    "POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
    "chunked\r\n\r\n"
    "14\r\n{\"core_ids\":[\"4-7\"],\r\n1b\r\n\"cache\":{\"max\":2,\"min\":2}}  \r\n0\r\n\r\n",
    "PATCH /v1/workloads/1?a=b%20c HTTP/1.1\r\nHost: [::1]:8081\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n"
    "Content-Length: 2\r\n\r\n{}",
    "DELETE /v1/workloads/1/ HTTP/1.0\r\nContent-Type: application/json\r\n\r\n",
    "HEAD /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/node HTTP/1.1\r\nHost: localhost\r\n\r\n",
};
const std::vector<std::string> kBodies = {
    R"({"core_ids":["4-7"],"cache":{"max":2,"min":2}})",
    R"({"core_ids":["0","1-3"],"rdt":{"cache":{"max":4,"min":1}},"uuid":"a\u00e9\ud83d\ude00"})", "0-3,8,10-4095", "[]",
    R"([1,-0.5e3,true,null,"x",{"a":[{}]}])"};
const std::vector<std::string> kPieces = {"\r\n",
                                          "\r",
                                          "\n",
                                          "\r\n\r\n",
                                          " ",
                                          "\t",
                                          ":",
                                          "%00",
                                          "%",
                                          "//",
                                          "/../",
                                          "\xff\xfe",
                                          "0",
                                          "-1",
                                          "{",
                                          "}",
                                          "[[[[[",
                                          "\"",
                                          "\\ud83d",
                                          "chunked",
                                          "Transfer-Encoding: chunked\r\n",
                                          "Content-Length: 5\r\n",
                                          "ffffffff\r\n",
                                          "HTTP/1.1",
                                          "4294967296",
                                          "0-4095",
                                          std::string(1, '\0'),
                                          std::string(3000, 'A')};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  std::string request() {
    if (below(3) == 0) return with_right_length(mutated(kBodies[below(kBodies.size())]));
    return mutated(kSeeds[below(kSeeds.size())]);
  }

 private:
  // What is wrong with it, only the readers of bodies can find.
  static std::string with_right_length(const std::string& body) {
    return "POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  std::string mutated(std::string text) {
    for (size_t changes = below(5) == 0 ? 4 : 1; changes > 0; --changes) change(text);
    return text;
  }

  void change(std::string& text) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 1: text.erase(at, below(20)); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 4: text.insert(at, text.substr(below(text.size()), below(60))); break;
      case 5: text.replace(at, below(8), kPieces[below(kPieces.size())]); break;
    }
  }

  std::mt19937 random_;
};

// Reads a body as the service does, so that the readers behind the guard get their share.
void read_and_echo(const Request& request, Reply reply) {
  const auto body = nrd::json::parse(request.body);
  const auto cpus = nrd::CpuSet::parse(request.body.substr(0, 64));
  const int status = body || cpus ? 200 : 400;
  reply.send({.status = status, .content_type = "text/plain", .body = request.method + "\n", .headers = {}});
}

// The status of the first answer; 0 if there is none, -1 if it is no answer of nrd.
int first_status(const std::string& heard) {
  if (heard.empty()) return 0;
  int status = -1;
  if (heard.starts_with("HTTP/1.1 ") && heard.size() > 12) std::from_chars(heard.data() + 9, heard.data() + 12, status);
  return status;
}

int send_in_segments(TcpClient& client, std::string_view text, Mutator& mutator) {
  const size_t segments = mutator.below(2) == 0 ? 1 : 1 + mutator.below(6);
  for (size_t left = segments; left > 1 && !text.empty(); --left) {
    const size_t size = 1 + mutator.below(text.size());
    if (!client.say(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  client.say(text);
  client.say_no_more();
  return first_status(client.hear(5000));
}

bool serves(uint16_t port) {
  TcpClient client(port);
  client.say("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  return first_status(client.hear(5000)) == 200;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const long count = argc > 1 ? std::atol(argv[1]) : 20'000;
  Mutator mutator(argc > 2 ? static_cast<unsigned>(std::atol(argv[2])) : std::random_device()());
  auto server = Server::start({.plain = nrd::http::TcpEndpoint{.address = "127.0.0.1", .port = 0}}, read_and_echo);
  if (!server) return 2;
  const uint16_t port = (*server)->plain_port();
  std::map<int, long> statuses;
  for (long i = 0; i < count; ++i) {
    const std::string request = mutator.request();
    TcpClient client(port);
    const int status = send_in_segments(client, request, mutator);
    client.reset();
    ++statuses[status];
    const bool is_ours = status == 0 || status == 100 || status == 200 || (status >= 400 && status < 600);
    if (!is_ours || (i % 1000 == 0 && !serves(port))) {
      std::fprintf(stderr, "after request %ld, status %d:\n%s\n", i, status, request.c_str());
      return 1;
    }
    if (count > 50'000 && i % 50'000 == 0) std::fprintf(stderr, "%ld of %ld\n", i, count);
  }
  for (const auto& [status, times] : statuses) std::printf("%d: %ld\n", status, times);
  return serves(port) && statuses[200] > count / 50 && statuses[400] > count / 50 ? 0 : 1;
}
