// Accepted and refused requests, independent of how the input is split.
#include "api/http/request_parser.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "api/http/limits.h"

namespace nrd::request_parser_test {

using nrd::http::kBodyLimit;
using nrd::http::kHeaderCountLimit;
using nrd::http::kHeadLimit;
using nrd::http::kTargetLimit;
using nrd::http::RawRequest;
using nrd::http::RequestParser;

namespace {

using ReadResult = RequestParser::ReadResult;

std::string head(const std::string& headers = "", const std::string& line = "GET /v1/node HTTP/1.1") {
  return line + "\r\nHost: localhost\r\n" + headers + "\r\n";
}

std::string post(const std::string& headers, const std::string& body) {
  return head(headers, "POST /v1/workloads HTTP/1.1") + body;
}

std::string chunked(const std::string& body) { return post("Transfer-Encoding: chunked\r\n", body); }

// 0: accepted, -1: more is needed, otherwise the status of the refusal.
int status_of(std::string bytes) {
  RequestParser parser;
  switch (parser.read(bytes)) {
    case ReadResult::Complete: return 0;
    case ReadResult::NeedsMore: return -1;
    case ReadResult::Refused: break;
  }
  CHECK_FALSE(parser.refusal().line.empty());
  return parser.refusal().status;
}

RawRequest accepted(std::string bytes) {
  RequestParser parser;
  REQUIRE(parser.read(bytes) == ReadResult::Complete);
  CHECK(bytes.empty());
  return parser.take();
}

}  // namespace

TEST_CASE("a request is parsed unchanged") {
  const RawRequest request = accepted(
      post("content-TYPE:  application/json \r\nAccept: a/b\r\nACCEPT: c/d\r\nX-Other: \"x\"\r\nContent-Length: 2\r\n",
           "{}"));
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/workloads");
  CHECK(request.content_type == "application/json");
  CHECK(request.accept == "a/b, c/d");
  CHECK(request.body == "{}");
  CHECK_FALSE(request.closes);
}

TEST_CASE("chunks are joined") {
  CHECK(accepted(chunked("0\r\n\r\n")).body.empty());
  CHECK(accepted(chunked("3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n")).body == "abc0123456789");
}

TEST_CASE("a request split at any byte parses the same") {
  for (const std::string& whole :
       {chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), post("Content-Length: 11\r\n", "hello world")}) {
    for (size_t cut = 0; cut <= whole.size(); ++cut) {
      CAPTURE(cut);
      RequestParser parser;
      std::string input = whole.substr(0, cut);
      if (cut < whole.size()) CHECK(parser.read(input) == ReadResult::NeedsMore);
      input += whole.substr(cut);
      REQUIRE(parser.read(input) == ReadResult::Complete);
      CHECK(parser.take().body == "hello world");
      CHECK(input.empty());
    }
  }
}

TEST_CASE("a request sent byte by byte parses the same") {
  RequestParser parser;
  std::string input;
  ReadResult outcome = ReadResult::NeedsMore;
  for (const char c : chunked("5\r\nhello\r\n0\r\n\r\n")) {
    REQUIRE(outcome == ReadResult::NeedsMore);
    input += c;
    outcome = parser.read(input);
  }
  REQUIRE(outcome == ReadResult::Complete);
  CHECK(parser.take().body == "hello");
}

TEST_CASE("pipelined requests are parsed one after the other") {
  std::string input = post("Content-Length: 1\r\n", "a") + chunked("1\r\nb\r\n0\r\n\r\n") + head();
  RequestParser parser;
  std::vector<std::string> bodies;
  while (parser.read(input) == ReadResult::Complete) bodies.push_back(parser.take().body);
  CHECK(bodies == std::vector<std::string>{"a", "b", ""});
  CHECK(input.empty());
}

TEST_CASE("Connection and the HTTP version decide whether to close") {
  CHECK(accepted(head("Connection: close\r\n")).closes);
  CHECK(accepted(head("Connection: keep-alive, Close\r\n")).closes);
  CHECK(accepted("GET / HTTP/1.0\r\n\r\n").closes);
  CHECK_FALSE(accepted(head("Connection: keep-alive\r\n")).closes);
  CHECK_FALSE(accepted(head("Connection: close-not\r\n")).closes);
}

TEST_CASE("100 Continue is requested once") {
  RequestParser parser;
  std::string input = post("Expect: 100-continue\r\nContent-Length: 3\r\n", "");
  CHECK(parser.read(input) == ReadResult::NeedsMore);
  CHECK(parser.take_continue());
  CHECK_FALSE(parser.take_continue());
  RequestParser patient;
  input = post("Expect: 100-continue\r\nContent-Length: 3\r\n", "abc");
  CHECK(patient.read(input) == ReadResult::Complete);
  CHECK_FALSE(patient.take_continue());
}

TEST_CASE("request lines that are not strictly valid are refused") {
  struct Row {
    const char* line;
    int status;
  };
  for (const Row& row : std::vector<Row>{{"GET /v1/node HTTP/1.1", 0},
                                         {"OPTIONS /v1/node HTTP/1.1", 0},
                                         {"GET /a?b=c%20d&e HTTP/1.1", 0},
                                         {"GET /v1/node", 400},
                                         {"GET  /v1/node HTTP/1.1", 400},
                                         {" GET /v1/node HTTP/1.1", 400},
                                         {"GET /v1/node HTTP/1.1 ", 400},
                                         {"GET /a b HTTP/1.1", 400},
                                         {"GET /v1/node http/1.1", 400},
                                         {"GET /v1/node HTTP/1.10", 505},
                                         {"GET /v1/node HTTP/2.0", 505},
                                         {"GET /v1/node HTTP/", 505},
                                         {"get /v1/node HTTP/1.1", 501},
                                         {"TRACE /v1/node HTTP/1.1", 501},
                                         {"CONNECT a:1 HTTP/1.1", 501},
                                         {"G(T /v1/node HTTP/1.1", 400},
                                         {"GET http://host/v1/node HTTP/1.1", 400},
                                         {"OPTIONS * HTTP/1.1", 400},
                                         {"GET v1/node HTTP/1.1", 400},
                                         {"GET //v1/node HTTP/1.1", 400},
                                         {"GET /v1//node HTTP/1.1", 400},
                                         {"GET /v1?a=http://x HTTP/1.1", 0},
                                         {"GET /v1#part HTTP/1.1", 400},
                                         {"GET /\xc3\xa9 HTTP/1.1", 400},
                                         {"GET /\"<> HTTP/1.1", 400},
                                         {"GET /v1\t/node HTTP/1.1", 400}}) {
    CAPTURE(row.line);
    CHECK(status_of(head("", row.line)) == row.status);
  }
}

TEST_CASE("ambiguous headers are refused") {
  struct Row {
    const char* headers;
    int status;
  };
  for (const Row& row : std::vector<Row>{{"X: \xc3\xa9\r\n", 0},
                                         {"X:\r\n", 0},
                                         {"X\r\n", 400},
                                         {": x\r\n", 400},
                                         {"X : y\r\n", 400},
                                         {" X: y\r\n", 400},
                                         {"X: y\r\n folded\r\n", 400},
                                         {"X: y\r\n\tfolded\r\n", 400},
                                         {"X: y\rZ: z\r\n", 400},
                                         {"X: y\nZ: z\r\n", 400},
                                         {"X: \x01\r\n", 400},
                                         {"X: \x7f\r\n", 400},
                                         {"Host: twice\r\n", 400},
                                         {"If-Match:\r\n", 400},
                                         {"Idempotency-Key:\r\n", 400},
                                         {"If-None-Match: \r\n", 400},
                                         {"Content-Length: 0\r\nContent-Length: 0\r\n", 400},
                                         {"Content-Length: 0, 0\r\n", 400},
                                         {"Content-Length: +1\r\n", 400},
                                         {"Content-Length: -1\r\n", 400},
                                         {"Content-Length: 1 2\r\n", 400},
                                         {"Content-Length: 0x1\r\n", 400},
                                         {"Content-Length: 3junk\r\n", 400},
                                         {"Content-Length:\r\n", 400},
                                         {"Content-Length : 1\r\n", 400},
                                         {"Content-Length: 65537\r\n", 413},
                                         {"Content-Length: 99999999999999999999999\r\n", 413},
                                         {"Transfer-Encoding: gzip\r\n", 501},
                                         {"Transfer-Encoding: gzip, chunked\r\n", 501},
                                         {"Transfer-Encoding: xchunked\r\n", 501},
                                         {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
                                         {"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", 400},
                                         {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400},
                                         {"Content-Type: a/b\r\nContent-Type: c/d\r\n", 400},
                                         {"Expect: a miracle\r\n", 417}}) {
    CAPTURE(row.headers);
    CHECK(status_of(head(row.headers)) == row.status);
  }
  CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n") == 400);
  CHECK(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
  CHECK(status_of(std::string("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 34)) == 400);
}

TEST_CASE("bare line feeds are refused at once") {
  CHECK(status_of("GET / HTTP/1.1\n") == 400);
  CHECK(status_of("\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\n\n") == 400);
}

TEST_CASE("chunks that are not strictly valid are refused") {
  struct Row {
    const char* body;
    int status;
  };
  for (const Row& row : std::vector<Row>{{"0\r\n\r\n", 0},   {"1\r\na\r\n0\r\n\r\n", 0},
                                         {"1", -1},          {"1\r", -1},
                                         {"1\r\na", -1},     {"1\r\na\r", -1},
                                         {"0\r\n", -1},      {"\r\n", 400},
                                         {"g\r\n", 400},     {"g", 400},
                                         {"-1\r\n", 400},    {"0x1\r\n", 400},
                                         {"1 \r\n", 400},    {"1;name=value\r\na\r\n", 400},
                                         {"1\na\r\n", 400},  {"1\r\nab\r\n", 400},
                                         {"1\r\na\n", 400},  {"000000001\r\n", 400},
                                         {"123456789", 400}, {"ffffffff\r\n", 413},
                                         {"10001\r\n", 413}, {"0\r\nTrailer: x\r\n\r\n", 400}}) {
    CAPTURE(row.body);
    CHECK(status_of(chunked(row.body)) == row.status);
  }
}

TEST_CASE("each limit is exact to the byte") {
  const auto target = [](size_t size) { return head("", "GET /" + std::string(size - 1, 'a') + " HTTP/1.1"); };
  CHECK(status_of(target(kTargetLimit)) == 0);
  CHECK(status_of(target(kTargetLimit + 1)) == 414);
  CHECK(status_of("GET /" + std::string(kTargetLimit + 64, '/')) == 414);

  const std::string filled = head("X: \r\n");
  CHECK(status_of(head("X: " + std::string(kHeadLimit - filled.size(), 'x') + "\r\n")) == 0);
  CHECK(status_of(head("X: " + std::string(kHeadLimit - filled.size() + 1, 'x') + "\r\n")) == 431);
  CHECK(status_of("GET / HTTP/1.1\r\nX: " + std::string(kHeadLimit, 'x')) == 431);

  std::string headers;
  for (size_t i = 1; i < kHeaderCountLimit; ++i) headers += "X: y\r\n";
  CHECK(status_of(head(headers)) == 0);
  CHECK(status_of(head(headers + "X: y\r\n")) == 431);

  CHECK(status_of(post("Content-Length: 65536\r\n", std::string(kBodyLimit, 'x'))) == 0);
  CHECK(status_of(chunked("10000\r\n" + std::string(kBodyLimit, 'x') + "\r\n0\r\n\r\n")) == 0);
  CHECK(status_of(chunked("10000\r\n" + std::string(kBodyLimit, 'x') + "\r\n1\r\n")) == 413);
}

TEST_CASE("after a refusal nothing more is read") {
  RequestParser parser;
  std::string input = "nonsense\r\n\r\n" + head();
  CHECK(parser.read(input) == ReadResult::Refused);
  CHECK(parser.read(input) == ReadResult::Refused);
}

TEST_CASE("credentials are accepted once and wiped from the input") {
  std::string bytes = head("Authorization: Basic c2VjcmV0OnNlY3JldA==\r\n") + "GET /next";
  const char* where = bytes.data();
  const size_t size = bytes.size();
  RequestParser parser;
  REQUIRE(parser.read(bytes) == ReadResult::Complete);
  CHECK(bytes == "GET /next");
  CHECK(std::string_view(where, size).find("c2VjcmV0") == std::string_view::npos);
  CHECK(parser.take().authorization.view() == "Basic c2VjcmV0OnNlY3JldA==");
  CHECK(parser.take().authorization.empty());
  CHECK(status_of(head("Authorization: Basic YQ==\r\nAuthorization: Basic YQ==\r\n")) == 400);
}

TEST_CASE("without authentication, only loopback hosts and no web pages are accepted") {
  const auto status = [](const std::string& headers) {
    RequestParser parser(RequestParser::HostPolicy::LoopbackOnly);
    std::string bytes = "POST / HTTP/1.1\r\n" + headers + "\r\n";
    return parser.read(bytes) == ReadResult::Complete ? 0 : parser.refusal().status;
  };
  for (const char* host :
       {"localhost", "LocalHost:8081", "127.0.0.1", "127.0.0.1:8081", "127.8.0.1", "[::1]", "[::1]:8081"}) {
    CAPTURE(host);
    CHECK(status("Host: " + std::string(host) + "\r\n") == 0);
  }
  for (const char* host :
       {"", "rebound.example", "rebound.example:8081", "localhost.rebound.example", "127.0.0.1.rebound.example",
        "128.0.0.1", "0.0.0.0", "127.1", "[::2]", "[::1", "::1", "[::1].rebound.example"}) {
    CAPTURE(host);
    CHECK(status("Host: " + std::string(host) + "\r\n") == 421);
  }
  CHECK(status("Host: localhost\r\nOrigin: http://localhost:8081\r\n") == 403);
  CHECK(status("Origin: null\r\nHost: localhost\r\n") == 403);
  CHECK(status_of(head("Origin: https://node\r\n")) == 0);
}

TEST_CASE("each request of a connection without authentication is checked, not only the first") {
  RequestParser parser(RequestParser::HostPolicy::LoopbackOnly);
  std::string bytes = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n";
  REQUIRE(parser.read(bytes) == ReadResult::Complete);
  parser.take();
  CHECK(parser.read(bytes) == ReadResult::Refused);
  CHECK(parser.refusal().status == 421);
}

}  // namespace nrd::request_parser_test
