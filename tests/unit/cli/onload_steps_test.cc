#include <doctest/doctest.h>

#include "base/json/reader.h"
#include "cli/onload/steps.h"

namespace nrd::cli::onload_steps_test {
namespace {

json::Value a_step(const std::string& members) {
  return *json::parse(R"({"act": "insert", "subject": "onload", "started": "2026-11-21T23:59:59.900Z", )" + members +
                      "}");
}

constexpr const char* kDone =
    R"("progress": "done", "finished": "2026-11-22T00:00:00.400Z", "cause": "", "kernel": [])";

}  // namespace

TEST_CASE("a step shows its duration, also across midnight") {
  CHECK(draw_step(a_step(kDone)) == "  done         insert onload                            0.5 s\n");
}

TEST_CASE("a failed step shows its cause and kernel log without control characters") {
  const auto step = a_step(R"("progress": "failed", "finished": "2026-11-21T23:59:59.900Z", "cause": "ibt",
      "message": "in use by a\u001b[31mb", "kernel": ["[sfc efrm] ERROR\u0007"])");
  CHECK(draw_step(step) ==
        "  failed       insert onload                            0.0 s   ibt: in use by a?[31mb\n"
        "               [sfc efrm] ERROR?\n");
}

TEST_CASE("a duration with an unreadable time, or that the clock was set back in, is omitted") {
  CHECK(draw_step(a_step(R"("progress": "done", "finished": "2026-11-21T23:59:58.400Z")")) ==
        "  done         insert onload\n");
  CHECK(draw_step(a_step(R"("progress": "done", "finished": "soon")")) == "  done         insert onload\n");
  CHECK(draw_step(a_step(R"("progress": "interrupted")")) == "  interrupted  insert onload\n");
  CHECK(draw_step(*json::parse("{}")) == "  -            -\n");
}

TEST_CASE("only steps that have ended are printed permanently") {
  const auto operation = json::parse(R"({"steps": [{"act": "close_device_access", "progress": "done"},
                                                   {"act": "end_users", "subject": "", "progress": "running"}]})");
  CHECK(ended_steps(*operation) == 1);
  CHECK(draw_running(*operation) == "  running      end_users");
  CHECK(ended_steps(*json::parse("{}")) == 0);
  CHECK(draw_running(*json::parse(R"({"steps": []})")).empty());
}

TEST_CASE("the last line shows the outcome") {
  const auto drawn = [](const char* text) { return draw_outcome(*json::parse(text)); };
  CHECK(drawn(R"({"id": 3, "outcome": "succeeded"})") == "operation 3 succeeded\n");
  CHECK(drawn(R"({"id": 3, "outcome": "rolled_back", "fallback": 0, "cause": "ibt", "message": "no"})") ==
        "operation 3 was rolled back to the state before it\nibt: no\n");
  CHECK(drawn(R"({"id": 3, "outcome": "rolled_back", "fallback": 2, "cause": "ibt", "message": "no"})") ==
        "operation 3 was rolled back to generation 2\nibt: no\n");
  CHECK(drawn(R"({"id": 3, "outcome": "failed", "cause": "ibt", "message": "no"})") ==
        "operation 3 failed; Onload accepts no new users until this is fixed, see docs/onload.md\nibt: no\n");
}

}  // namespace nrd::cli::onload_steps_test
