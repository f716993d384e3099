#include "api/v1/onload.h"

#include <doctest/doctest.h>

#include <optional>

#include "api/json/reader.h"
#include "api/v1/routes.h"
#include "tests/unit/api/fake_engine.h"
#include "tests/unit/api/fake_keeper.h"
#include "tests/unit/api/surroundings.h"

using namespace nrd;
using namespace nrd::onload;

namespace {

struct Service {
  FakeEngine engine{a_node()};
  nrd::testing::FakeKeeper keeper;
  nrd::testing::Surroundings around{keeper};
  http::Handler handler = v1::routes(around.house(engine, keeper), {.version = "1.2.3"});

  http::Response ask(std::string method, std::string path, std::string body = {}, std::string if_match = {}) {
    std::optional<http::Response> answer;
    http::Request request{.method = std::move(method), .path = std::move(path), .content_type = "application/json"};
    request.body = std::move(body);
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

TEST_CASE("a wish that takes a while is accepted with the place of its operation") {
  Service service;
  service.keeper.outcome = Accepted{3, 8};
  const auto response = service.ask("PUT", "/v1/onload", kWish, "\"2\"");
  CHECK(response.status == 202);
  CHECK(header(response, "Location") == "/v1/onload/operations/8");
  CHECK(json::parse(response.body)->find("generation")->as_unsigned() == 3U);
  REQUIRE(service.keeper.wishes.size() == 1);
  CHECK(service.keeper.wishes.front() ==
        std::pair(Desired{.state = State::Loaded, .version = "9.0"}, std::optional<uint64_t>(2)));
}

TEST_CASE("a wish that is fulfilled already is a plain success") {
  Service service;
  service.keeper.outcome = Accepted{3, std::nullopt};
  const auto response = service.ask("PUT", "/v1/onload", kWish);
  CHECK(response.status == 200);
  CHECK(header(response, "Location").empty());
}

TEST_CASE("each refusal has a status of its own") {
  for (const auto& [code, status] :
       {std::pair{ErrorCode::Conflict, 409}, std::pair{ErrorCode::Stale, 412}, std::pair{ErrorCode::Locked, 423},
        std::pair{ErrorCode::BadRequest, 400}, std::pair{ErrorCode::Store, 503}}) {
    Service service;
    service.keeper.outcome = fail(code, "no");
    CHECK(service.ask("PUT", "/v1/onload", kWish).status == status);
    CHECK(service.ask("DELETE", "/v1/onload").status == status);
    CHECK(service.ask("POST", "/v1/onload/rollback", "{}").status == status);
  }
}

TEST_CASE("what cannot be read is never wished for") {
  Service service;
  for (const char* body : {"", "{", "[]", "{}", R"({"state": "up"})"}) {
    CHECK(service.ask("PUT", "/v1/onload", body).status == 400);
  }
  CHECK(service.ask("PUT", "/v1/onload", kWish, "yesterday").status == 412);
  CHECK(service.keeper.wishes.empty());
}

TEST_CASE("a delete wishes for nothing to be loaded") {
  Service service;
  service.ask("DELETE", "/v1/onload");
  REQUIRE(service.keeper.wishes.size() == 1);
  CHECK(service.keeper.wishes.front().first == Desired{.state = State::Unloaded});
}

TEST_CASE("a node without Onload says so") {
  Service service;
  const auto response = service.ask("GET", "/v1/onload");
  CHECK(response.status == 200);
  CHECK(header(response, "ETag") == "\"0\"");
  const auto body = json::parse(response.body);
  CHECK(body->find("desired")->kind() == json::Value::Kind::Null);
  CHECK(body->find("version")->kind() == json::Value::Kind::Null);
  CHECK(body->find("modules")->items().empty());
}

TEST_CASE("an operation is shown with its steps, one that is not there is a 404") {
  Service service;
  Operation operation{.id = 8, .generation = 3, .outcome = onload::Outcome::Failed, .cause = "signature"};
  operation.steps.push_back({.act = Act::Insert, .subject = "onload", .progress = Progress::Failed, .kernel = {"bad"}});
  service.keeper.known.operations = {operation};
  const auto body = json::parse(service.ask("GET", "/v1/onload/operations/8").body);
  REQUIRE(body);
  CHECK(*body->find("outcome")->as_string() == "failed");
  CHECK(*body->find("steps")->items().front().find("act")->as_string() == "insert");
  for (const char* id : {"9", "08x", "-8", "99999999999999999999"}) {
    CHECK(service.ask("GET", "/v1/onload/operations/" + std::string(id)).status == 404);
    CHECK(service.ask("GET", "/v1/onload/generations/" + std::string(id)).status == 404);
  }
}

TEST_CASE("freeze and thaw reach the keeper") {
  Service service;
  CHECK(service.ask("PUT", "/v1/onload/freeze", R"({"frozen": true, "reason": "trading"})").status == 200);
  CHECK(service.keeper.known.freeze == Freeze{true, "trading"});
  CHECK(service.ask("PUT", "/v1/onload/freeze", "{}").status == 400);
}

TEST_CASE("versions are listed, imported and removed by name") {
  Service service;
  service.keeper.versions = {{.name = "9.0", .kernels = {{"6.1.0", {{"onload", "9.0.1", "ab", "x/onload.ko"}}}}}};
  const auto list = json::parse(service.ask("GET", "/v1/onload/versions").body);
  CHECK(*list->items().front().find("name")->as_string() == "9.0");
  const auto made = service.ask("POST", "/v1/onload/versions", R"({"name": "9.1", "source": "/opt/nrd/import/9.1"})");
  CHECK(made.status == 201);
  CHECK(header(made, "Location") == "/v1/onload/versions/9.1");
  CHECK(service.keeper.imported == std::vector<std::pair<std::string, std::string>>{{"9.1", "/opt/nrd/import/9.1"}});
  CHECK(service.ask("DELETE", "/v1/onload/versions/9.0").status == 200);
  CHECK(service.ask("DELETE", "/v1/onload/versions/..").status == 404);
  CHECK(service.keeper.removed_versions == std::vector<std::string>{"9.0"});
}

TEST_CASE("a verification that finds something is an answer and no failure") {
  Service service;
  service.keeper.verification = {.generation = 3, .trouble = Trouble{"device", "no node", "/dev", {}}};
  const auto response = service.ask("POST", "/v1/onload/verify", "{}");
  CHECK(response.status == 200);
  const auto body = json::parse(response.body);
  CHECK(body->find("verified")->as_bool() == false);
  CHECK(*body->find("cause")->as_string() == "device");
}

TEST_CASE("users, stacks and interfaces are shown as they were found") {
  Service service;
  service.keeper.use.users = {User{.process = {4711, 99}, .comm = "feed", .uses = {Use::EfVi}}};
  service.keeper.stacks = {{.id = 3, .creator = 4711, .uid = 1000, .orphan = true}};
  service.keeper.interfaces = {{.name = "eth0", .solarflare = true, .accelerated = true}};
  const auto users = json::parse(service.ask("GET", "/v1/onload/users").body);
  CHECK(users->find("in_use")->as_bool() == true);
  CHECK(*users->find("users")->items().front().find("uses")->items().front().as_string() == "ef_vi");
  CHECK(json::parse(service.ask("GET", "/v1/onload/stacks").body)->items().front().find("orphan")->as_bool() == true);
  const auto interfaces = json::parse(service.ask("GET", "/v1/onload/interfaces").body);
  CHECK(*interfaces->items().front().find("name")->as_string() == "eth0");
}
