#include "api/routing/content_negotiation.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "base/suggestions.h"

namespace nrd::content_negotiation_test {

using nrd::closest;
using nrd::routing::error_style;
using nrd::routing::ErrorStyle;
using nrd::routing::is_json;

TEST_CASE("JSON is application/json with or without parameters") {
  for (const std::string type : {"application/json", "application/json;charset=utf-8", "Application/JSON ; a=b",
                                 "application/json, application/json", "application/json;charset=utf-8, text/plain"}) {
    CAPTURE(type);
    CHECK(is_json(type));
  }
  for (const std::string type :
       {"", "text/plain", "application/jsonx", "application/problem+json", "json", "text/plain, application/json",
        "text/plain;a, application/json", ", application/json"}) {
    CAPTURE(type);
    CHECK_FALSE(is_json(type));
  }
}

TEST_CASE("Accept decides how an error is written") {
  struct Row {
    std::string accept;
    std::optional<ErrorStyle> style;
  };
  const Row rows[] = {
      {"", ErrorStyle::Text},
      {"*/*", ErrorStyle::Text},
      {"text/plain", ErrorStyle::Text},
      {"text/html, */*;q=0.8", ErrorStyle::Text},
      {"application/*", ErrorStyle::Text},
      {"application/json", ErrorStyle::Json},
      {"text/plain, application/problem+json", ErrorStyle::Json},
      {"*/*, Application/JSON;q=0.5", ErrorStyle::Json},
      {"text/html", std::nullopt},
      {"application/json;q=0", std::nullopt},
      {"application/json; q=0.000, text/*", ErrorStyle::Text},
      {"garbage", std::nullopt},
  };
  for (const Row& row : rows) {
    CAPTURE(row.accept);
    CHECK(error_style(row.accept) == row.style);
  }
}

TEST_CASE("the suggestion is the known word with the smallest edit distance, if that is small") {
  CHECK(closest("chache", {"core_ids", "cache", "rdt"}) == "cache");
  CHECK(closest("CORE_IDS", {"cos_name", "core_ids", "task_ids"}) == "core_ids");
  CHECK(closest("wate", {"name", "since", "wait"}) == "wait");  // as far as "name"
  CHECK(closest("", {"rdt", "cache"}).empty());
  CHECK(closest("destroy", {"delete", "describe"}).empty());
  CHECK(closest("foo", {"pool", "policy"}).empty());
  CHECK(closest("percent", {"mbps", "percentage"}) == "percentage");
  CHECK(closest(std::string(100'000, 'x'), {"rdt", "cache"}).empty());
  CHECK(did_you_mean(closest("sever", {"tls", "server"}), "[", "]") == "; did you mean [server]?");
  CHECK(did_you_mean(closest("colour", {"tls", "server"}), "[", "]").empty());
}

}  // namespace nrd::content_negotiation_test
