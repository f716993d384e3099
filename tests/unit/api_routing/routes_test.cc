#include "api/routing/routes.h"

#include <doctest/doctest.h>

#include <optional>
#include <thread>

#include "api/v1/workload_etag.h"
#include "base/json/reader.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::routes_test {
namespace {

struct Service {
  FakeEngine engine{a_node()};
  testing::FakeController onload;
  testing::Fixture fixture{onload};
  http::Handler handler = routing::routes(fixture.services(engine, onload),
                                          {.version = "1.2.3", .debug_port_open = true, .counters = fixture.counters});
};

// Everything that was answered to one request.
struct Answers {
  std::vector<http::Response> all;
  http::Reply reply() {
    return http::Reply([this](http::Response response) { all.push_back(std::move(response)); });
  }
};

http::Response ask(const http::Handler& handler, http::Request request) {
  Answers answers;
  handler(request, answers.reply());
  REQUIRE(answers.all.size() == 1);
  return answers.all.front();
}

http::Request a_get(std::string path) { return {.method = "GET", .path = std::move(path)}; }
http::Request a_post(std::string body) {
  return {.method = "POST", .path = "/v1/workloads", .content_type = "application/json", .body = std::move(body)};
}
http::Request a_patch(std::string path, std::string body) {
  return {.method = "PATCH", .path = std::move(path), .content_type = "application/json", .body = std::move(body)};
}

constexpr const char* kTwoWays = R"({"core_ids": ["0", "1"], "cache": {"max": 2, "min": 2}})";

}  // namespace

TEST_CASE("creating a workload submits the request and returns the grant") {
  Service service;
  service.engine.answer_with(done_with(a_workload(5)));
  const auto response = ask(service.handler, a_post(kTwoWays));
  CHECK(response.status == 201);
  CHECK(response.content_type == "application/json");
  CHECK(response.headers ==
        std::vector<std::pair<std::string, std::string>>{{"ETag", v1::etag_of(a_workload(5), response.body)},
                                                         {"X-Nrd-Revision", "7"},
                                                         {"Location", "/v1/workloads/5"}});
  CHECK(*json::parse(response.body)->find("id")->as_string() == "5");
  const auto commands = service.engine.commands();
  REQUIRE(commands.size() == 1);
  CHECK(std::get<CreateWorkload>(commands.front()).spec == a_workload(5).spec);
}

TEST_CASE("an asynchronous response from another thread is sent once") {
  Service service;
  Answers answers;
  service.handler(a_post(kTwoWays), answers.reply());
  CHECK(answers.all.empty());
  REQUIRE(service.engine.waiting() == 1);
  std::thread([&service] { service.engine.answer_waiting(done_with(a_workload(5))); }).join();
  REQUIRE(answers.all.size() == 1);
  CHECK(answers.all.front().status == 201);
}

TEST_CASE("a command that the engine drops is answered with 500") {
  Answers answers;
  {
    Service service;
    service.handler(a_post(kTwoWays), answers.reply());
    CHECK(answers.all.empty());
  }
  REQUIRE(answers.all.size() == 1);
  CHECK(answers.all.front().status == 500);
}

TEST_CASE("an engine error points into the shape of the request") {
  Service service;
  service.engine.answer_with(fail_at(ErrorCode::BadRequest, "/cache/min", "min is 3, but max is only 2", "0 to max"));
  const auto response = ask(service.handler, a_post(R"({"core_ids": ["0"], "rdt": {"cache": {"max": 2, "min": 3}}})"));
  CHECK(response.status == 400);
  CHECK(response.content_type == "text/plain");
  CHECK(response.body ==
        "Failed to validate workload. Reason: /rdt/cache/min: min is 3, but max is only 2 (allowed: 0 to max)\n");
}

TEST_CASE("an invalid body is not submitted to the engine") {
  Service service;
  for (const std::string body : {"", "null", "{", "{}", R"({"core_ids": null})", "[[[[", "{\"a\": \"\xff\"}",
                                 R"({"core_ids": ["0"], "core_ids": ["1"], "cache": {"max": 1, "min": 1}})"}) {
    CAPTURE(body);
    const auto response = ask(service.handler, a_post(body));
    CHECK(response.status == 400);
    CHECK(response.content_type == "text/plain");
    CHECK(response.body.find('\n') == response.body.size() - 1);
  }
  CHECK(service.engine.commands().empty());
}

TEST_CASE("invalid JSON is answered with RMD's text and the byte offset") {
  Service service;
  CHECK(ask(service.handler, a_post("{\"core_ids\": [")).body ==
        "Failed to read request correctly. Please check request syntax and data. Details: "
        "invalid JSON: unexpected end (byte 14)\n");
}

TEST_CASE("the list follows every published state") {
  Service service;
  CHECK(ask(service.handler, a_get("/v1/workloads")).body == "[]");
  service.engine.publish(with(a_node(), a_workload(1)));
  CHECK(json::parse(ask(service.handler, a_get("/v1/workloads")).body)->items().size() == 1);
  service.engine.publish(a_node());
  CHECK(ask(service.handler, a_get("/v1/workloads")).body == "[]");
}

TEST_CASE("a patch submits the workload id and the changes") {
  Service service;
  service.engine.publish(with(a_node(), a_workload(1)));
  service.engine.answer_with(done_with(a_workload(1)));
  const auto response = ask(service.handler, a_patch("/v1/workloads/1", R"({"cache": {"max": 3}})"));
  CHECK(response.status == 200);
  CHECK(*json::parse(response.body)->find("id")->as_string() == "1");
  const auto commands = service.engine.commands();
  REQUIRE(commands.size() == 1);
  const auto& command = std::get<PatchWorkload>(commands.front());
  CHECK(command.id == WorkloadId{1});
  REQUIRE(command.patch.cache);
  CHECK(**command.patch.cache == json::Partial<CacheRequest>{.values = {.max = 3}, .given = 1});
  CHECK_FALSE(command.patch.core_ids);
}

TEST_CASE("an unknown path is a 404") {
  Service service;
  for (const std::string path : {"/v1x", "/v2", "/v2/workloads", "/v1/workloadsx", "/v1/workloads/1/2",
                                 "//v1/workloads", "/v1//workloads", "/v1/workloads//", "/v1/../v1/workloads"}) {
    CAPTURE(path);
    const auto response = ask(service.handler, a_get(path));
    CHECK(response.status == 404);
    CHECK(response.body == "404: Page Not Found\n");
  }
}

TEST_CASE("a HEAD is handled as a GET") {
  Service service;
  for (const std::string path : {"/v1/health", "/v1/workloads", "/v1/workloads/99", "/nothing", "/v1/cache/l9"}) {
    CAPTURE(path);
    const auto get = ask(service.handler, a_get(path));
    const auto head = ask(service.handler, {.method = "HEAD", .path = path});
    CHECK(head.status == get.status);
    CHECK(head.body == get.body);  // the server omits it, and sends its length
    CHECK(head.content_type == get.content_type);
    CHECK(head.headers == get.headers);
  }
}

TEST_CASE("a client that accepts JSON gets problem documents") {
  Service service;
  http::Request request = a_post(R"({"core_ids": ["0"], "cache": {"max": -1, "min": 0}})");
  request.accept = "application/json";
  auto response = ask(service.handler, request);
  CHECK(response.status == 400);
  CHECK(response.content_type == "application/problem+json");
  CHECK(*json::parse(response.body)->find("field")->as_string() == "/cache/max");

  request = a_get("/nowhere");
  request.accept = "application/problem+json";
  response = ask(service.handler, request);
  CHECK(response.status == 404);
  CHECK(*json::parse(response.body)->find("code")->as_string() == "NoSuchPath");
}

TEST_CASE("the health lists all problems") {
  Service service;
  NodeState state = with(a_node(), a_workload(1));
  service.engine.publish(state);
  CHECK(
      ask(service.handler, a_get("/v1/health")).body ==
      R"({"status":"ok","writes_frozen":false,"hardware_problem":"",)"
      R"-("warnings":["plain HTTP without authentication is open: every local user can change workloads (--debug)"],)-"
      R"("version":"1.2.3","revision":7,"drift_repairs":0,"workloads":1})");
  state.health = {.writes_frozen = true, .hardware_problem = "class COS2 did not take its ways", .drift_repairs = 3};
  service.engine.publish(state);
  const auto health = json::parse(ask(service.handler, a_get("/v1/health")).body);
  CHECK(*health->find("status")->as_string() == "degraded");
  CHECK(health->find("writes_frozen")->as_bool() == true);
  CHECK(*health->find("hardware_problem")->as_string() == "class COS2 did not take its ways");
  CHECK(health->find("drift_repairs")->as_unsigned() == 3);
}

TEST_CASE("the node shows the owner of each way") {
  Service service;
  NodeState state = with(a_node(), a_workload(1));
  state.observed.rdt.foreign["other"].ways = {{CacheId{3, 0}, WayMask(0x100)}, {CacheId{3, 1}, WayMask::all(11)}};
  service.engine.publish(state);
  CHECK(
      ask(service.handler, a_get("/v1/node")).body ==
      R"({"revision":7,"host_name":"","machine_id":null,"boot_id":"boot",)"
      R"("capacity":{"revision":0,"default_pool":null,"reserves":{}},"cpus":{"possible":"0-7","online":"0-7"},)"
      R"("capabilities":{"l3_cat":{"classes":4,"ways":11,"min_ways":1,"shared_with_io":{"mask":"600","ways":2},"cdp":false,"sparse_masks":false},)"
      R"("l2_cat":null,"mba":null,"monitoring":null,"missing":[]},)"
      R"("writer":null,"layout":{"os":{"mask":"1","ways":1},"guarantee":{"mask":"3e","ways":5},"besteffort":{"mask":"1c0","ways":3},)"
      R"("shared":{"mask":"600","ways":2},"infra":{"mask":"0","ways":0}},)"
      R"("groups":{"os_cpus":"","infra_cpus":"","infra_processes":[],"max_allowed_shared":null},)"
      R"("classes":{"total":4,"used":3,"reserved":0},"caches":[)"
      R"({"id":0,"socket":0,"numa_nodes":"","cpus":"0-3","os":{"mask":"f","ways":4},"infra":{"mask":"0","ways":0},"io":{"mask":"600","ways":2},"free":{"mask":"6ce","ways":7},)"
      R"("longest_run":4,"idle":{"mask":"6c0","ways":4},)"
      R"("pools":{"os":{"ways":1,"free":1,"longest_run":1,"idle":0},"guarantee":{"ways":5,"free":3,"longest_run":3,"idle":0},)"
      R"("besteffort":{"ways":3,"free":2,"longest_run":2,"idle":2},"shared":{"ways":2,"free":2,"longest_run":2,"idle":2}},)"
      R"("foreign":[{"group":"other","ways":{"mask":"100","ways":1},"cpus":"","tasks":0,"mode":"shareable",)"
      R"("holds_ways":true,"readable":true}],)"
      R"("workloads":[{"id":"1","cos_name":"COS2","pool":"guarantee","ways":{"mask":"30","ways":2}}]},)"
      R"({"id":1,"socket":1,"numa_nodes":"","cpus":"4-7","os":{"mask":"7ff","ways":11},"infra":{"mask":"0","ways":0},"io":{"mask":"600","ways":2},"free":{"mask":"7fe","ways":10},)"
      R"("longest_run":11,"idle":{"mask":"0","ways":0},)"
      R"("pools":{"os":{"ways":1,"free":1,"longest_run":1,"idle":0},"guarantee":{"ways":5,"free":5,"longest_run":5,"idle":0},)"
      R"("besteffort":{"ways":3,"free":3,"longest_run":3,"idle":0},"shared":{"ways":2,"free":2,"longest_run":2,"idle":0}},)"
      R"("foreign":[{"group":"other","ways":{"mask":"7ff","ways":11},"cpus":"","tasks":0,"mode":"shareable",)"
      R"("holds_ways":false,"readable":true}],"workloads":[]}]})");
}

TEST_CASE("a node without cache allocation reports what is missing") {
  Service service;
  NodeState state = a_node();
  state.facts.rdt.levels[3].cat.reset();
  state.layouts.clear();
  state.observed = {};
  state.facts.rdt.missing = {"L3 CAT: the CPU has none"};
  service.engine.publish(state);
  const auto node = json::parse(ask(service.handler, a_get("/v1/node")).body);
  REQUIRE(node);
  CHECK(node->find("capabilities")->find("l3_cat")->is_null());
  CHECK(*node->find("capabilities")->find("missing")->items().front().as_string() == "L3 CAT: the CPU has none");
  CHECK(node->find("layout")->is_null());
  CHECK(node->find("classes")->find("total")->as_unsigned() == 0);
  CHECK(node->find("caches")->items().size() == 2);
}

}  // namespace nrd::routes_test
