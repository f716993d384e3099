#include "api/routing/problem.h"

#include <doctest/doctest.h>

#include "api/rmd/texts.h"
#include "base/json/reader.h"

namespace nrd::problem_test {

using routing::ErrorStyle;

namespace {

Error an_error(ErrorCode code) {
  return {.code = code,
          .field = "/cache/max",
          .message = "too much",
          .detail = "errno 5 in /sys/fs/resctrl",
          .allowed = "1 to 5",
          .subject = "3"};
}

std::string text_of(const Error& error) {
  return routing::problem_response(routing::problem_of_workload(error, "the-uuid"), ErrorStyle::Text).body;
}

}  // namespace

TEST_CASE("every error code maps to its status and line") {
  struct Row {
    ErrorCode code;
    int status;
    std::string text;
  };
  const Row rows[] = {
      {ErrorCode::BadRequest, 400, "Failed to validate workload. Reason: /cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Forbidden, 403, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::NotFound, 404, "404: Could not found workload\n"},
      {ErrorCode::CpuTaken, 400,
       "Failed to validate workload. Reason: Workload validation in database failed. Details: "
       "CPU list [3] has been assigned\n"},
      {ErrorCode::UuidTaken, 400,
       "Failed to validate workload. Reason: Workload validation in database failed. Details: "
       "UUID the-uuid already exists in workload 3\n"},
      {ErrorCode::NotEnough, 409,
       "Not enough cache left on cache_id 3. Details: /cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::NoClass, 409, "No free CLOS available. Details: /cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Unsupported, 422, "Failed to validate workload. Reason: /cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Busy, 503, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Conflict, 409, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Stale, 412, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Locked, 423, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Frozen, 503, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Hardware, 500, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Store, 503, "/cache/max: too much (allowed: 1 to 5)\n"},
      {ErrorCode::Internal, 500, "/cache/max: too much (allowed: 1 to 5)\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(routing::status_of(row.code) == row.status);
    CHECK(text_of(an_error(row.code)) == row.text);
  }
}

TEST_CASE("RMD's texts are unchanged") {
  CHECK(text_of(rmd::no_cores().value()) == "Failed to validate workload. Reason: No task or core id specified\n");
  CHECK(text_of(rmd::half_a_cache().value()) ==
        "Failed to validate workload. Reason: Need to provide both cache.* or none of them\n");
  CHECK(text_of(rmd::no_parameters().value()) ==
        "Failed to validate workload. Reason: No RDT/Plugins params in workload\n");
}

TEST_CASE("Error.detail is not sent to the client") {
  for (const ErrorStyle style : {ErrorStyle::Text, ErrorStyle::Json}) {
    const auto response = routing::problem_response(routing::problem_of_workload(an_error(ErrorCode::Hardware)), style);
    CHECK(response.body.find("errno") == std::string::npos);
    CHECK(response.body.find("resctrl") == std::string::npos);
  }
}

TEST_CASE("an error is one line, whatever it quotes") {
  Error error = an_error(ErrorCode::BadRequest);
  error.message = "a\r\nb\x1b[2J";
  error.detail = "";
  CHECK(text_of(error) == "Failed to validate workload. Reason: /cache/max: a??b?[2J (allowed: 1 to 5)\n");
}

TEST_CASE("an error has no eight-bit form of a terminal escape") {
  Error error = an_error(ErrorCode::BadRequest);
  error.message = "a\xc2\x9bJ";
  CHECK(text_of(error) == "Failed to validate workload. Reason: /cache/max: a?J (allowed: 1 to 5)\n");
}

TEST_CASE("a problem has code, field, detail and allowed values") {
  const auto response =
      routing::problem_response(routing::problem_of_workload(an_error(ErrorCode::NotEnough)), ErrorStyle::Json);
  CHECK(response.status == 409);
  CHECK(response.content_type == "application/problem+json");
  const auto body = json::parse(response.body);
  REQUIRE(body);
  CHECK(*body->find("type")->as_string() == "urn:nrd:problem:NotEnough");
  CHECK(body->find("status")->as_unsigned() == 409);
  CHECK(*body->find("code")->as_string() == "NotEnough");
  CHECK(*body->find("detail")->as_string() == "too much");
  CHECK(*body->find("field")->as_string() == "/cache/max");
  CHECK(*body->find("allowed")->as_string() == "1 to 5");
}

}  // namespace nrd::problem_test
