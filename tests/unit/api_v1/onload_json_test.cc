#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "api/v1/onload/parse.h"
#include "base/json/reader.h"
#include "engine/onload/allocation.h"
#include "engine/onload/controller.h"
#include "engine/onload/profile_repository.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"

namespace nrd::onload::onload_json_test {
namespace {

Result<onload::Spec> parse(const std::string& text) { return v1::parse_spec(*json::parse(text)); }
// A valid spec with `member` added.
Result<onload::Spec> with(const std::string& member) {
  return parse(R"({"state": "loaded", "version": "9.0.1.86", )" + member + "}");
}
std::string at_fault(const Result<onload::Spec>& spec) {
  if (spec) return "nothing";
  CHECK(spec.error().code == ErrorCode::BadRequest);
  return spec.error().field;
}
std::string x(size_t count) { return std::string(count, 'x'); }

}  // namespace

TEST_CASE("absent members have their defaults") {
  CHECK(parse(R"({"state": "loaded", "version": "9.0"})").value() ==
        onload::Spec{.state = State::Loaded, .version = "9.0"});
  CHECK(parse(R"({"state": "unloaded"})").value() == onload::Spec{.state = State::Unloaded});
}

TEST_CASE("every member of a spec is accepted") {
  const auto spec = parse(R"({"state": "loaded", "version": "9.0", "sfc": "managed",
      "parameters": {"onload": {"max_packets_per_stack": "1024"}}, "control_plane": ["-K", "--no-listen"],
      "users_policy": "term", "drain_seconds": 0, "on_failure": "stop"})");
  REQUIRE(spec);
  CHECK(*spec == onload::Spec{.state = State::Loaded,
                              .version = "9.0",
                              .sfc = Sfc::Managed,
                              .parameters = {{"onload", {{"max_packets_per_stack", "1024"}}}},
                              .control_plane = {"-K", "--no-listen"},
                              .users = UsersPolicy::Term,
                              .drain = std::chrono::seconds(0),
                              .on_failure = OnFailure::Stop});
}

TEST_CASE("a written spec parses to the same spec") {
  const auto spec = with(R"("sfc": "managed", "parameters": {"sfc_char": {"phys_mode_gid": "7"}},
                            "control_plane": [], "users_policy": "kill", "drain_seconds": 86400)");
  REQUIRE(spec);
  json::Writer w;
  v1::to_json(w, *spec);
  CHECK(parse(w.take()).value() == *spec);
}

TEST_CASE("an error in a spec has its JSON pointer") {
  struct Row {
    std::string text;
    const char* field;
  };
  const std::vector<Row> rows = {
      {"[]", ""},
      {"{}", "/state"},
      {R"({"state": "up"})", "/state"},
      {R"({"state": 1})", "/state"},
      {R"({"state": null})", "/state"},
      {R"({"state": "loaded"})", "/version"},
      {R"({"state": "loaded", "version": ""})", "/version"},
      {R"({"state": "loaded", "version": 9})", "/version"},
      {R"({"state": "loaded", "version": ".."})", "/version"},
      {R"({"state": "loaded", "version": "a/b"})", "/version"},
      {R"({"state": "loaded", "version": ")" + x(65) + "\"}", "/version"},
      {R"({"state": "unloaded", "version": "9.0"})", "/version"},
      {R"({"state": "unloaded", "colour": "red"})", "/colour"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(at_fault(parse(row.text)) == row.field);
  }
  CHECK(parse(R"({"state": "loaded", "version": ")" + x(64) + "\"}"));
}

TEST_CASE("an error in each member has its JSON pointer") {
  struct Row {
    std::string member;
    const char* field;
  };
  const std::vector<Row> rows = {
      {R"("sfc": "none")", "/sfc"},
      {R"("sfc": true)", "/sfc"},
      {R"("parameters": [])", "/parameters"},
      {R"("parameters": {"on-load": {}})", "/parameters/on-load"},
      {R"("parameters": {"": {}})", "/parameters/"},
      {R"("parameters": {"onload": []})", "/parameters/onload"},
      {R"("parameters": {"onload": {"a b": "1"}})", "/parameters/onload/a b"},
      {R"("parameters": {"onload": {"a": 1}})", "/parameters/onload/a"},
      {R"("parameters": {"onload": {"a": "1\n"}})", "/parameters/onload/a"},
      {R"("parameters": {"onload": {"a": ")" + x(1024) + "\"}}", "/parameters/onload/a"},
      {R"("parameters": {"onload": {"a": ")" + x(1023) + "\"}}", "nothing"},
      {R"("control_plane": "-K")", "/control_plane"},
      {R"("control_plane": [1])", "/control_plane/0"},
      {R"("control_plane": ["-K", ""])", "/control_plane/1"},
      {R"("control_plane": ["-K -s"])", "/control_plane/0"},
      {R"("control_plane": [")" + x(129) + "\"]", "/control_plane/0"},
      {R"("control_plane": ["--log-to-kmsg", "--fwd-max=4096", "-h", "8", "--affinity", "0xff"])", "nothing"},
      {R"("control_plane": ["-K", "--uid=0"])", "/control_plane/1"},
      {R"("control_plane": ["--ui=0"])", "/control_plane/0"},
      {R"("control_plane": ["--network-namespace-file=/proc/1/ns/net"])", "/control_plane/0"},
      {R"("control_plane": ["--version"])", "/control_plane/0"},
      {R"("control_plane": ["-K", "--"])", "/control_plane/1"},
      {R"("control_plane": ["/etc/shadow"])", "/control_plane/0"},
      {R"("control_plane": ["8"])", "/control_plane/0"},
      {R"("control_plane": ["-K", "-t"])", "/control_plane/1"},
      {R"("control_plane": ["-t", "-K"])", "/control_plane/1"},
      {R"("control_plane": ["--fwd-max="])", "/control_plane/0"},
      {R"("control_plane": ["--fwd-max=1k"])", "/control_plane/0"},
      {R"("control_plane": ["-t=5"])", "/control_plane/0"},
      {R"("control_plane": ["-K=1"])", "/control_plane/0"},
      {R"("parameters": {"onload": {"cplane_server_params": "-K --uid=0"}})",
       "/parameters/onload/cplane_server_params"},
      {R"("parameters": {"onload": {"cplane_server_params": " -K  -t 5 "}})", "nothing"},
      {R"("control_plane": [])", "nothing"},
      {R"("users_policy": "murder")", "/users_policy"},
      {R"("drain_seconds": -1)", "/drain_seconds"},
      {R"("drain_seconds": 1.5)", "/drain_seconds"},
      {R"("drain_seconds": "30")", "/drain_seconds"},
      {R"("drain_seconds": 86401)", "/drain_seconds"},
      {R"("drain_seconds": 86400)", "nothing"},
      {R"("on_failure": "pray")", "/on_failure"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.member);
    CHECK(at_fault(with(row.member)) == row.field);
  }
}

TEST_CASE("the parameter of a module has the control plane server's words as well") {
  const auto set = [](const char* module, const char* line) {
    const auto values =
        v1::parse_module_parameters(module, *json::parse(R"({"cplane_server_params": ")" + std::string(line) + "\"}"));
    return values ? "nothing" : values.error().field;
  };
  CHECK(set("onload", "-K --verify-routes") == "nothing");
  CHECK(set("onload", "") == "nothing");
  CHECK(set("onload", "-K --daemonise") == "/cplane_server_params");
  CHECK(set("sfc", "whatever") == "nothing");
}

TEST_CASE("there are at most 256 parameters and 32 words") {
  const auto parameters = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::string("\"p") + std::to_string(i) + "\": \"1\"";
    return R"("parameters": {"onload": {)" + text + "}}";
  };
  const auto words = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::string("\"-K\"");
    return R"("control_plane": [)" + text + "]";
  };
  CHECK(at_fault(with(parameters(256))) == "nothing");
  CHECK(at_fault(with(parameters(257))) == "/parameters");
  CHECK(at_fault(with(words(32))) == "nothing");
  CHECK(at_fault(with(words(33))) == "/control_plane/32");
}

TEST_CASE("a rollback names a generation or none") {
  const auto to = [](const char* text) { return v1::parse_rollback(*json::parse(text)); };
  CHECK(to("{}").value() == std::nullopt);
  CHECK(to(R"({"to": 3})").value() == 3U);
  for (const char* wrong : {"[]", R"({"to": "3"})", R"({"to": -1})", R"({"to": 1.5})", R"({"of": 3})"}) {
    CHECK_FALSE(to(wrong));
  }
}

TEST_CASE("a freeze says whether, and perhaps why") {
  const auto freeze = [](const std::string& text) { return v1::parse_freeze(*json::parse(text)); };
  CHECK(freeze(R"({"frozen": true, "reason": "trading"})").value() == Freeze{true, "trading"});
  CHECK(freeze(R"({"frozen": false})").value() == Freeze{});
  CHECK(freeze(R"({"frozen": true, "reason": ")" + x(200) + "\"}"));
  CHECK_FALSE(freeze(R"({"frozen": true, "reason": ")" + x(201) + "\"}"));
  for (const char* wrong :
       {"{}", R"({"frozen": 1})", R"({"frozen": true, "reason": 1})", R"({"frozen": true, "until": 1})"}) {
    CHECK_FALSE(freeze(wrong));
  }
}

TEST_CASE("an import names a version and an absolute path") {
  const auto import = [](const std::string& text) { return v1::parse_import(*json::parse(text)); };
  CHECK(import(R"({"name": "9.0", "source": "/opt/nrd/import/9.0.tar"})").value() ==
        v1::Import{"9.0", "/opt/nrd/import/9.0.tar"});
  for (const char* wrong : {"{}", R"({"name": "9.0"})", R"({"source": "/a"})", R"({"name": "../9", "source": "/a"})",
                            R"({"name": "9.0", "source": "a"})", R"({"name": "9.0", "source": "/a\n"})",
                            R"({"name": "9.0", "source": 1})", R"({"name": "9.0", "source": "/a", "kernel": "6.1"})"}) {
    CAPTURE(wrong);
    CHECK_FALSE(import(wrong));
  }
}

TEST_CASE("If-Match is the number of a generation, with quotes or without, or any") {
  CHECK(v1::parse_if_match("").value() == std::nullopt);
  CHECK(v1::parse_if_match("*").value() == std::nullopt);
  CHECK(v1::parse_if_match("\"7\"").value() == 7U);
  CHECK(v1::parse_if_match("7").value() == 7U);
  for (const char* wrong : {"\"", "\"\"", "7\"", "W/\"7\"", "-1", "seven", "7, 8"}) {
    CAPTURE(wrong);
    const auto parsed = v1::parse_if_match(wrong);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::Stale);
  }
}

TEST_CASE("the error for a variable has the beginning of its name") {
  const auto request = v1::parse_render(*json::parse(R"({"env": {")" + x(1000) + R"(=": "1"}})"), {});
  REQUIRE_FALSE(request);
  CHECK(request.error().field == "/env/" + x(json::kQuoted));
}

}  // namespace nrd::onload::onload_json_test
