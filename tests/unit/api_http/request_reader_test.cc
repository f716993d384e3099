#include "api/http/request_reader.h"

#include <doctest/doctest.h>

#include <map>

namespace nrd::http::request_reader_test {
namespace {

const auto kPeer = std::make_shared<const Peer>();

tl::expected<Request, RefusedRequest> read(std::string target) {
  RawRequest raw;
  raw.method = "GET";
  raw.target = std::move(target);
  return read_request(std::move(raw), kPeer);
}

using Query = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("path and parameters are decoded once") {
  const auto request = read("/v1/work%6Coads/a%2Fb%2541?uuid=x%26y%3Dz&wait=1=2&since&a%3D=b%20c");
  REQUIRE(request);
  CHECK(request->path == "/v1/workloads/a/b%41");
  CHECK(request->query == Query{{"uuid", "x&y=z"}, {"wait", "1=2"}, {"since", ""}, {"a=", "b c"}});
}

TEST_CASE("an empty query has no parameters") {
  for (const char* target : {"/v1/node", "/v1/node?"}) CHECK(read(target)->query.empty());
}

TEST_CASE("a question mark in the query is data") { CHECK(read("/?a=?&b=+")->query == Query{{"a", "?"}, {"b", "+"}}); }

TEST_CASE("a parameter that occurs twice is refused") {
  for (const char* target : {"/?a=1&a=2", "/?a=1&b=2&%61=1", "/?a&a"}) {
    const auto refused = read(target);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().line == "The query parameter a must occur only once.");
  }
}

TEST_CASE("an invalid percent-encoding is refused wherever it is") {
  for (const char* target : {"/%", "/%4", "/%zz", "/%g1", "/%+1", "/%0a", "/%7f", "/\n", "/a%00b", "/a?%zz=1",
                             "/a?b=%4", "/a?b=%00", "/a?b=%ff%"}) {
    const auto refused = read(target);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == 400);
  }
}

}  // namespace nrd::http::request_reader_test
