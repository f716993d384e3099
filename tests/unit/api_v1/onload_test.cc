#include "api/v1/onload/onload.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "api/routing/routes.h"
#include "base/json/reader.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::onload::onload_test {
namespace {

struct Service {
  FakeEngine engine{a_node()};
  nrd::testing::FakeController controller;
  nrd::testing::Fixture fixture{controller};
  http::Handler handler =
      routing::routes(fixture.services(engine, controller), {.version = "1.2.3", .counters = fixture.counters});

  std::map<std::string, std::string> query{};  // of the next requests

  http::Response ask(std::string method, std::string path, std::string body = {}, std::string if_match = {}) {
    std::optional<http::Response> answer;
    http::Request request{.method = std::move(method), .path = std::move(path), .content_type = "application/json"};
    request.body = std::move(body);
    request.query = query;
    request.if_match = std::move(if_match);
    handler(request, http::Reply([&answer](http::Response response) { answer = std::move(response); }));
    REQUIRE(answer);
    return *answer;
  }
};

std::string header(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

constexpr const char* kWish = R"({"state": "loaded", "version": "9.0"})";

}  // namespace

TEST_CASE("a slow change gets a 202 with the location of its operation") {
  Service service;
  service.controller.outcome = Accepted{3, 8};
  const auto response = service.ask("PUT", "/v1/onload", kWish, "\"2\"");
  CHECK(response.status == 202);
  CHECK(header(response, "Location") == "/v1/onload/operations/8");
  CHECK(json::parse(response.body)->find("generation")->as_unsigned() == 3U);
  REQUIRE(service.controller.specs.size() == 1);
  CHECK(service.controller.specs.front() ==
        std::pair(onload::Spec{.state = State::Loaded, .version = "9.0"}, std::optional<uint64_t>(2)));
}

TEST_CASE("a spec that is already in effect gets a 200") {
  Service service;
  service.controller.outcome = Accepted{3, std::nullopt};
  const auto response = service.ask("PUT", "/v1/onload", kWish);
  CHECK(response.status == 200);
  CHECK(header(response, "Location").empty());
}

TEST_CASE("each refusal has a status of its own") {
  for (const auto& [code, status] :
       {std::pair{ErrorCode::Conflict, 409}, std::pair{ErrorCode::Stale, 412}, std::pair{ErrorCode::Locked, 423},
        std::pair{ErrorCode::BadRequest, 400}, std::pair{ErrorCode::Store, 503}}) {
    Service service;
    service.controller.outcome = fail(code, "no");
    CHECK(service.ask("PUT", "/v1/onload", kWish).status == status);
    CHECK(service.ask("DELETE", "/v1/onload").status == status);
    CHECK(service.ask("POST", "/v1/onload/rollback", "{}").status == status);
  }
}

TEST_CASE("an invalid spec never reaches the controller") {
  Service service;
  for (const char* body : {"", "{", "[]", "{}", R"({"state": "up"})"}) {
    CHECK(service.ask("PUT", "/v1/onload", body).status == 400);
  }
  CHECK(service.ask("PUT", "/v1/onload", kWish, "yesterday").status == 412);
  CHECK(service.controller.specs.empty());
}

TEST_CASE("a DELETE requests the unloaded state") {
  Service service;
  service.ask("DELETE", "/v1/onload");
  REQUIRE(service.controller.specs.size() == 1);
  CHECK(service.controller.specs.front().first == onload::Spec{.state = State::Unloaded});
}

TEST_CASE("a node without Onload says so") {
  Service service;
  const auto response = service.ask("GET", "/v1/onload");
  CHECK(response.status == 200);
  CHECK(header(response, "ETag") == "\"0\"");
  const auto body = json::parse(response.body);
  CHECK(body->find("spec")->kind() == json::Value::Kind::Null);
  CHECK(body->find("version")->kind() == json::Value::Kind::Null);
  CHECK(body->find("modules")->items().empty());
}

TEST_CASE("an operation is shown with its steps, one that is not there is a 404") {
  Service service;
  Operation operation{.id = 8, .generation = 3, .outcome = onload::Outcome::Failed, .cause = "signature"};
  operation.steps.push_back({.act = Act::Insert, .subject = "onload", .progress = Progress::Failed, .kernel = {"bad"}});
  service.controller.known.operations = {operation};
  const auto body = json::parse(service.ask("GET", "/v1/onload/operations/8").body);
  REQUIRE(body);
  CHECK(*body->find("outcome")->as_string() == "failed");
  CHECK(*body->find("steps")->items().front().find("act")->as_string() == "insert");
  for (const char* id : {"9", "08x", "-8", "99999999999999999999"}) {
    CHECK(service.ask("GET", "/v1/onload/operations/" + std::string(id)).status == 404);
    CHECK(service.ask("GET", "/v1/onload/generations/" + std::string(id)).status == 404);
  }
}

TEST_CASE("freeze and thaw reach the controller") {
  Service service;
  CHECK(service.ask("PUT", "/v1/onload/freeze", R"({"frozen": true, "reason": "trading"})").status == 200);
  CHECK(service.controller.known.freeze == Freeze{true, "trading"});
  CHECK(service.ask("PUT", "/v1/onload/freeze", "{}").status == 400);
}

TEST_CASE("versions are listed, imported and removed by name") {
  Service service;
  const VersionModule onload{.path = "x/onload.ko", .file = {.name = "onload", .version = "9.0.1", .build_id = "ab"}};
  service.controller.versions = {{.name = "9.0", .kernels = {{"6.1.0", {onload}}}}};
  const auto list = json::parse(service.ask("GET", "/v1/onload/versions").body);
  CHECK(*list->items().front().find("name")->as_string() == "9.0");
  const auto made = service.ask("POST", "/v1/onload/versions", R"({"name": "9.1", "source": "/opt/nrd/import/9.1"})");
  CHECK(made.status == 201);
  CHECK(header(made, "Location") == "/v1/onload/versions/9.1");
  CHECK(service.controller.imported ==
        std::vector<std::pair<std::string, std::string>>{{"9.1", "/opt/nrd/import/9.1"}});
  CHECK(service.ask("DELETE", "/v1/onload/versions/9.0").status == 200);
  CHECK(service.ask("DELETE", "/v1/onload/versions/..").status == 404);
  CHECK(service.controller.removed_versions == std::vector<std::string>{"9.0"});
}

TEST_CASE("a verification that finds something is an answer and no failure") {
  Service service;
  service.controller.verification = {.generation = 3, .step_error = StepError{"device", "no node", "/dev", {}}};
  const auto response = service.ask("POST", "/v1/onload/verify", "{}");
  CHECK(response.status == 200);
  const auto body = json::parse(response.body);
  CHECK(body->find("verified")->as_bool() == false);
  CHECK(*body->find("cause")->as_string() == "device");
}

TEST_CASE("users, stacks and interfaces are shown as they were found") {
  Service service;
  service.controller.use.users = {User{.process = {4711, 99}, .comm = "feed", .uses = {Use::EfVi}}};
  service.controller.stacks = {{.id = 3, .creator = 4711, .uid = 1000, .orphan = true}};
  service.controller.interfaces = {{.name = "eth0", .solarflare = true, .accelerated = true}};
  const auto users = json::parse(service.ask("GET", "/v1/onload/users").body);
  CHECK(users->find("in_use")->as_bool() == true);
  CHECK(*users->find("users")->items().front().find("uses")->items().front().as_string() == "ef_vi");
  CHECK(json::parse(service.ask("GET", "/v1/onload/stacks").body)->items().front().find("orphan")->as_bool() == true);
  const auto interfaces = json::parse(service.ask("GET", "/v1/onload/interfaces").body);
  CHECK(*interfaces->items().front().find("name")->as_string() == "eth0");
}

TEST_CASE("a dry run reports the steps, is refused like the change, and starts nothing") {
  Service service;
  service.query = {{"dryRun", "true"}};
  service.controller.planned = {.checks = {{"frozen", std::nullopt, {}}}, .steps = {{Act::Insert, "onload", {}}}};
  const auto shown = service.ask("PUT", "/v1/onload", kWish, "\"2\"");
  CHECK(shown.status == 200);
  const auto body = json::parse(shown.body);
  CHECK(*body->find("steps")->items().front().find("act")->as_string() == "insert");
  CHECK(service.controller.dry_runs.back().second == std::optional<uint64_t>(2));
  service.controller.planned.checks.front().refusal = fail(ErrorCode::Locked, "frozen").value();
  CHECK(service.ask("PUT", "/v1/onload", kWish).status == 423);
  service.query = {{"dryRun", "maybe"}};
  CHECK(service.ask("PUT", "/v1/onload", kWish).status == 400);
  CHECK(service.controller.specs.empty());
}

TEST_CASE("a preflight gets a 200 whatever it finds") {
  Service service;
  service.controller.planned = {.checks = {{"frozen", fail(ErrorCode::Locked, "frozen").value(), {}}}, .steps = {}};
  const auto answer = service.ask("POST", "/v1/onload/preflight", kWish);
  CHECK(answer.status == 200);
  CHECK(json::parse(answer.body)->find("ok")->as_bool() == false);
  CHECK(service.controller.dry_runs.back().first == onload::Spec{.state = State::Loaded, .version = "9.0"});
  CHECK(service.ask("POST", "/v1/onload/preflight", "").status == 200);
  CHECK_FALSE(service.controller.dry_runs.back().first);
  CHECK(service.ask("POST", "/v1/onload/preflight", "{]").status == 400);
}

TEST_CASE("a long poll waits for another revision, at most a minute") {
  Service service;
  service.controller.known.operations = {Operation{.id = 8}};
  for (const char* path : {"/v1/onload", "/v1/onload/operations/8"}) {
    service.query = {{"since", "7"}, {"wait", "3"}};
    CHECK(service.ask("GET", path).status == 200);
    CHECK(service.controller.watched.back() == std::pair<uint64_t, std::chrono::seconds>(7, 3));
    service.query = {{"since", "7"}};
    CHECK(service.ask("GET", path).status == 200);
    CHECK(service.controller.watched.back() == std::pair<uint64_t, std::chrono::seconds>(7, 30));
    for (const auto& wrong :
         {std::map<std::string, std::string>{{"since", "x"}}, {{"since", "7"}, {"wait", "61"}}, {{"wait", "3"}}}) {
      service.query = wrong;
      CHECK(service.ask("GET", path).status == 400);
    }
  }
  service.query = {{"since", "7"}};
  CHECK(service.ask("GET", "/v1/onload/operations/9").status == 404);
  CHECK(service.controller.watched.size() == 4);
}

TEST_CASE("a drain says how users are to end, a cancellation which operation turns back") {
  Service service;
  service.controller.outcome = Accepted{3, 8};
  CHECK(service.ask("POST", "/v1/onload/drain", R"({"users_policy": "term", "drain_seconds": 5})").status == 202);
  CHECK(service.ask("POST", "/v1/onload/drain", "").status == 202);
  CHECK(service.controller.drains == std::vector<Drain>{{UsersPolicy::Term, std::chrono::seconds(5)},
                                                        {UsersPolicy::Wait, std::chrono::seconds(30)}});
  CHECK(service.ask("POST", "/v1/onload/drain", R"({"drain_seconds": -1})").status == 400);
  CHECK(header(service.ask("POST", "/v1/onload/operations/8/cancel", "{}"), "Location") == "/v1/onload/operations/8");
  CHECK(service.ask("POST", "/v1/onload/operations/x/cancel", "{}").status == 404);
  CHECK(service.controller.cancelled == std::vector<uint64_t>{8});
}

TEST_CASE("a parameter is amended by its module and its name, and a refusal points into the request") {
  Service service;
  service.query = {{"reload", "true"}};
  CHECK(service.ask("PATCH", "/v1/onload/modules/onload/parameters", R"({"a": "1"})").status == 200);
  CHECK(service.controller.patched.back().first ==
        onload::SpecPatch{.parameters = {{"onload", {{"a", "1"}}}}, .reload = Reload::Allow});
  service.controller.outcome = fail_at(ErrorCode::BadRequest, "/parameters/onload/a", "no");
  CHECK(service.ask("PATCH", "/v1/onload/modules/onload/parameters", R"({"a": "1"})").body.find("/parameters") ==
        std::string::npos);
  for (const char* body : {"", "{}", R"({"a": 1})", R"(["a"])"}) {
    CHECK(service.ask("PATCH", "/v1/onload/modules/onload/parameters", body).status == 400);
  }
  service.query = {{"reload", "perhaps"}};
  CHECK(service.ask("PATCH", "/v1/onload/modules/onload/parameters", R"({"a": "1"})").status == 400);
  CHECK(service.controller.patched.size() == 2);
}

TEST_CASE("stacks are shown by kind") {
  Service service;
  service.controller.stacks = {{.id = 3, .orphan = true}, {.id = 4}};
  service.query = {{"kind", "orphan"}};
  const auto orphans = json::parse(service.ask("GET", "/v1/onload/stacks").body);
  REQUIRE(orphans->items().size() == 1);
  CHECK(orphans->items().front().find("id")->as_unsigned() == 3U);
  service.query = {{"kind", "mine"}};
  CHECK(service.ask("GET", "/v1/onload/stacks").status == 400);
}

TEST_CASE("modules and the control plane are shown as of the last check") {
  Service service;
  service.controller.known.observed.modules["onload"] = {.name = "onload",
                                                         .parameters = {{"cplane_server_params", {"-K", true}}}};
  service.controller.known.observed.servers = {
      {.process = {4711, 9}, .exe = "/sbin/x", .net_namespace = 12, .age = std::chrono::seconds(7)}};
  CHECK(service.ask("GET", "/v1/onload/modules/onload").status == 200);
  CHECK(service.ask("GET", "/v1/onload/modules/sfc").status == 404);
  const auto plane = json::parse(service.ask("GET", "/v1/onload/controlplane").body);
  CHECK(*plane->find("parameters")->as_string() == "-K");
  CHECK(plane->find("path")->kind() == json::Value::Kind::Null);
  CHECK(plane->find("servers")->items().front().find("age_seconds")->as_unsigned() == 7U);
  CHECK(service.ask("PATCH", "/v1/onload/controlplane", R"({"parameters": ["-K", "-s", "5"]})").status == 200);
  CHECK(service.controller.patched.back().first.control_plane == std::vector<std::string>{"-K", "-s", "5"});
}

TEST_CASE("an interface is accelerated and registered by its name, and nothing else is taken") {
  Service service;
  service.controller.interface = Interface{.name = "eth0", .pci = "0000:03:00.0", .accelerated = false};
  service.controller.known.interfaces = {{.pci = "0000:03:00.0", .mac = "", .accelerated = false, .registered = {}}};
  service.controller.known.observed.interfaces = {*service.controller.interface};
  const auto set = service.ask("PUT", "/v1/onload/interfaces/eth0/acceleration", R"({"enabled": false})");
  CHECK(set.status == 200);
  const auto body = json::parse(set.body);
  CHECK(body->find("accelerated")->as_bool() == false);
  CHECK(body->find("wanted")->find("accelerated")->as_bool() == false);
  CHECK(body->find("wanted")->find("af_xdp")->kind() == json::Value::Kind::Null);
  CHECK(service.ask("PUT", "/v1/onload/interfaces/ens4/afxdp", R"({"registered": true})").status == 200);
  CHECK(service.controller.turned == std::vector<std::tuple<std::string, InterfaceSwitch, SwitchState>>{
                                         {"eth0", InterfaceSwitch::Acceleration, SwitchState::Off},
                                         {"ens4", InterfaceSwitch::Afxdp, SwitchState::On}});
  for (const char* wrong : {"", "{}", "[]", R"({"enabled": 1})", R"({"enabled": true, "registered": true})"}) {
    CHECK(service.ask("PUT", "/v1/onload/interfaces/eth0/acceleration", wrong).status == 400);
  }
  service.controller.interface = fail(ErrorCode::Conflict, "Onload keeps it");
  CHECK(service.ask("PUT", "/v1/onload/interfaces/eth0/afxdp", R"({"registered": false})").status == 409);
}

TEST_CASE("conditions are shown with reason and time") {
  Service service;
  service.controller.known.conditions = {
      {"NicAvailable", Condition::Status::Unknown, "NoInterface", "none", Time(std::chrono::milliseconds(0))}};
  const auto body = json::parse(service.ask("GET", "/v1/onload").body);
  const json::Value& condition = body->find("conditions")->items().front();
  CHECK(*condition.find("status")->as_string() == "Unknown");
  CHECK(*condition.find("reason")->as_string() == "NoInterface");
  CHECK(condition.find("last_transition")->as_string()->starts_with("1970-01-01T00:00:00"));
}

}  // namespace nrd::onload::onload_test
