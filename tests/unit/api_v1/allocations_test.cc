#include <doctest/doctest.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <vector>

#include "api/routing/routes.h"
#include "api/v1/onload/onload.h"
#include "base/json/reader.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::onload::allocations_test {
namespace {

struct Service {
  Service() {
    fixture.folder.put("opt/versions/9.0/usr/lib64/libonload.so", "");
    controller.known.generations = {
        {.number = 3, .spec = {.state = State::Loaded, .version = "9.0"}, .verdict = Verdict::Verified}};
    controller.known.device_access_open = true;
  }
  http::Request request(std::string method, std::string path, std::string body, pid_t caller, std::string key) const {
    auto peer = std::make_shared<http::Peer>();
    if (caller != 0) {
      peer->credentials = http::Peer::Credentials{
          .uid = 0, .pid = caller, .started = fixture.owners->identify(caller)->start, .groups = {}};
    }
    return {.method = std::move(method),
            .path = std::move(path),
            .content_type = "application/json",
            .idempotency_key = std::move(key),
            .body = std::move(body),
            .peer = peer,
            .later = later};
  }
  http::Response ask(std::string method, std::string path, std::string body = {}, pid_t caller = 0,
                     std::string key = {}) {
    return ask(request(std::move(method), std::move(path), std::move(body), caller, std::move(key)));
  }
  http::Response ask(http::Request request) {
    std::promise<http::Response> answer;
    handler(std::move(request),
            http::Reply([&answer](http::Response response) { answer.set_value(std::move(response)); }));
    return answer.get_future().get();
  }

  http::Later later = [](const std::function<void()>& act) { act(); };
  FakeEngine engine{a_node()};
  nrd::testing::FakeController controller;
  nrd::testing::Fixture fixture{controller};
  http::Handler handler =
      routing::routes(fixture.services(engine, controller), {.version = "1.2.3", .counters = fixture.counters});
};

}  // namespace

TEST_CASE("a client of the Unix socket can be the owner without knowing its PID") {
  Service service;
  const auto made = service.ask("POST", "/v1/onload/allocations", R"({"owner": {"caller": true}})", ::getpid());
  REQUIRE(made.status == 201);
  CHECK(made.headers.front() == std::pair<std::string, std::string>("Location", "/v1/onload/allocations/1"));
  const auto body = json::parse(made.body);
  CHECK(body->find("owner")->find("pid")->as_unsigned() == static_cast<uint64_t>(::getpid()));
  CHECK(*body->find("env")->find("LD_PRELOAD")->as_string() == "/opt/versions/9.0/usr/lib64/libonload.so");
  CHECK(json::parse(service.ask("GET", "/v1/onload/allocations").body)->items().size() == 1);
  CHECK(service.ask("DELETE", "/v1/onload/allocations/1").status == 200);
  CHECK(service.ask("DELETE", "/v1/onload/allocations/1").status == 404);
  CHECK(service.ask("DELETE", "/v1/onload/allocations/1x").status == 404);
  CHECK(service.ask("POST", "/v1/onload/allocations", R"({"owner": {"caller": true}})").status == 400);
}

TEST_CASE("a client of a socket with an origin sees all allocations and releases those of its origin only") {
  Service service;
  REQUIRE(service.ask("POST", "/v1/onload/allocations", R"({"owner": {"caller": true}})", ::getpid()).status == 201);
  const auto as_kubernetes = [&service](std::string method, std::string path, std::string body = {}) {
    http::Request request = service.request(std::move(method), std::move(path), std::move(body), ::getpid(), {});
    request.origin = "kubernetes";
    return service.ask(request);
  };
  REQUIRE(as_kubernetes("POST", "/v1/onload/allocations", R"({"owner": {"caller": true}})").status == 201);
  const auto all = json::parse(as_kubernetes("GET", "/v1/onload/allocations").body);
  REQUIRE(all->items().size() == 2);
  CHECK(*all->items()[0].find("origin")->as_string() == "REST");
  CHECK(*all->items()[1].find("origin")->as_string() == "kubernetes");
  CHECK(as_kubernetes("DELETE", "/v1/onload/allocations/1").status == 403);
  CHECK(as_kubernetes("DELETE", "/v1/onload/allocations/2").status == 200);
  CHECK(service.ask("DELETE", "/v1/onload/allocations/1").status == 200);
}

TEST_CASE("the run role creates, sees and releases allocations of the calling process only") {
  Service service;
  const auto ask_limited = [&service](std::string method, std::string path, std::string body = {}) {
    http::Request request = service.request(std::move(method), std::move(path), std::move(body), ::getpid(), {});
    request.is_limited_to_own = true;
    return service.ask(std::move(request));
  };
  const std::string parent = R"({"owner": {"pid": )" + std::to_string(::getppid()) + "}}";
  REQUIRE(service.ask("POST", "/v1/onload/allocations", parent).status == 201);

  const http::Response refused = ask_limited("POST", "/v1/onload/allocations", parent);
  CHECK(refused.status == 403);
  CHECK(refused.body.find("/owner") != std::string::npos);
  CHECK(ask_limited("GET", "/v1/onload/allocations").body == "[]");
  CHECK(ask_limited("DELETE", "/v1/onload/allocations/1").status == 404);

  CHECK(ask_limited("POST", "/v1/onload/allocations", R"({"owner": {"caller": true}})").status == 201);
  CHECK(json::parse(ask_limited("GET", "/v1/onload/allocations").body)->items().size() == 1);
  CHECK(ask_limited("DELETE", "/v1/onload/allocations/2").status == 200);
  CHECK(json::parse(service.ask("GET", "/v1/onload/allocations").body)->items().size() == 1);
}

TEST_CASE("a version in use is not removed and the error names its user") {
  Service service;
  const std::string body = R"({"owner": {"pid": )" + std::to_string(::getpid()) + "}}";
  REQUIRE(service.ask("POST", "/v1/onload/allocations", body).status == 201);
  auto refused = service.ask("DELETE", "/v1/onload/versions/9.0");
  CHECK(refused.status == 409);
  CHECK(refused.body.find("allocation 1 (pid " + std::to_string(::getpid()) + ")") != std::string::npos);
  CHECK(service.ask("DELETE", "/v1/onload/versions/9.1").status == 200);
  REQUIRE(service.ask("DELETE", "/v1/onload/allocations/1").status == 200);
  CHECK(service.ask("DELETE", "/v1/onload/versions/9.0").status == 200);

  Workload workload = a_workload(7);
  workload.spec.onload = OnloadUse{.profiles = {}, .env = {}, .generation = 3, .version = "9.0"};
  service.engine.publish(with(a_node(), workload));
  refused = service.ask("DELETE", "/v1/onload/versions/9.0");
  CHECK(refused.status == 409);
  CHECK(refused.body.find("workload 7") != std::string::npos);
}

TEST_CASE("a replayed create is not admitted again") {
  Service service;
  const std::string body = R"({"core_ids": ["0"], "onload": {}})";
  const auto ask = [&] { return service.ask("POST", "/v1/workloads", body, 0, "key-1"); };
  Workload workload = a_workload(7);
  workload.spec.onload = OnloadUse{.profiles = {}, .env = {}, .generation = 3, .version = "9.0"};
  service.engine.answer_with(Done{service.engine.state(), workload});
  auto answer = ask();
  CHECK(answer.status == 201);
  CHECK(answer.body.find("LD_PRELOAD") != std::string::npos);
  service.controller.known.device_access_open = false;
  answer = ask();
  CHECK(answer.status == 201);
  CHECK(json::parse(answer.body)->find("onload")->find("version") != nullptr);
  CHECK(answer.body.find("LD_PRELOAD") == std::string::npos);
  CHECK(service.engine.commands().empty());

  service.engine.answer_with(fail(ErrorCode::NotFound, "none"));
  CHECK(ask().status == 503);
  CHECK(service.engine.lookups == 3);
  service.engine.answer_with(fail(ErrorCode::KeyReused, "another body"));
  CHECK(ask().status == 422);
}

TEST_CASE("the engine thread does not call Onload") {
  Service service;
  std::vector<std::function<void()>> left;
  service.later = [&left](std::function<void()> act) { left.push_back(std::move(act)); };
  service.engine.answer_with(done_with(a_workload(7)));
  int status = 0;
  service.handler(service.request("POST", "/v1/workloads", R"({"core_ids": ["0"], "onload": {}})", 0, "key-1"),
                  http::Reply([&status](const http::Response& response) { status = response.status; }));
  REQUIRE(left.size() == 1);
  CHECK(status == 0);
  left.clear();  // the service stops
  CHECK(status == 500);
}

TEST_CASE("errors of an allocation request name the field") {
  Service service;
  struct Row {
    const char* body;
    const char* field;
  };
  for (const Row& row : {Row{"{}", "/owner"}, Row{R"({"owner": {"pid": 4194305}})", "/owner/pid"},
                         Row{R"({"owner": {"pid": "1"}})", "/owner/pid"},
                         Row{R"({"owner": {"pid": 1, "start": 999999999}})", "/owner/start"},
                         Row{R"({"owner": {"pid": 1, "start": "2"}})", "/owner/start"},
                         Row{R"({"owner": {"caller": true, "start": 2}})", "/owner/start"},
                         Row{R"({"owner": {"pid": 1}, "preload": 1})", "/preload"},
                         Row{R"({"profiles": "a"})", "/profiles"}, Row{R"({"profiles": [1]})", "/profiles/0"},
                         Row{R"({"env": {"A=B": "1"}})", "/env/A=B"}, Row{R"({"env": {"A": 1}})", "/env/A"},
                         Row{R"({"force": 1})", "/force"}, Row{R"({"profile": []})", "/profile"}}) {
    CAPTURE(row.body);
    const auto refused = service.ask("POST", "/v1/onload/allocations", row.body);
    CHECK(refused.status == 400);
    CHECK(refused.body.starts_with(std::string(row.field) + ": "));
  }
  CHECK(service.ask("POST", "/v1/onload/render", R"({"format": "yaml"})").body.starts_with("/format: "));
  CHECK(service.fixture.allocations->allocations()->empty());
}

TEST_CASE("an allocation is a 503 while access is closed and a 409 without Onload") {
  Service service;
  const std::string body = R"({"owner": {"pid": )" + std::to_string(::getpid()) + "}}";
  service.controller.known.device_access_open = false;
  CHECK(service.ask("POST", "/v1/onload/allocations", body).status == 503);
  service.controller.known.generations.clear();
  CHECK(service.ask("POST", "/v1/onload/allocations", body).status == 409);
}

}  // namespace nrd::onload::allocations_test
