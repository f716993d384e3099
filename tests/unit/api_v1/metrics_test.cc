#include <doctest/doctest.h>

#include "api/v1/process_metrics.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::metrics_test {
namespace {

struct Service {
  FakeEngine engine{a_node()};
  testing::FakeController onload;
  testing::Fixture fixture{onload};
  http::Handler handler = routing::counted(
      fixture.counters,
      routing::routes(fixture.services(engine, onload), {.version = "1.2.3", .counters = fixture.counters}));

  std::string scrape() {
    std::string body;
    handler({.method = "GET", .path = "/metrics"}, http::Reply([&body](const http::Response& response) {
              CHECK(response.status == 200);
              body = response.body;
            }));
    return body;
  }
};

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

onload::Module a_module(std::string version) {
  return {.name = "onload", .state = onload::ModuleState::Live, .version = std::move(version)};
}

}  // namespace

TEST_CASE("a scrape returns the last user count and triggers a new one") {
  Service service;
  service.onload.known.observed.modules["onload"] = a_module("9.0.1.86");
  service.onload.known.device_access_open = true;
  service.onload.use.users.resize(3);
  service.onload.use.stacks.resize(2);
  service.onload.use.orphans.resize(1);
  const std::string first = service.scrape();
  CHECK(has_line(first, "nrd_onload_loaded 1"));
  CHECK(has_line(first, "nrd_onload_info{version=\"9.0.1.86\"} 1"));
  CHECK(has_line(first, "nrd_onload_device_access_open 1"));
  CHECK(first.find("nrd_onload_users ") == first.find("nrd_onload_users Processes"));  // in HELP only
  const std::string second = service.scrape();
  CHECK(has_line(second, "nrd_onload_users 3"));
  CHECK(has_line(second, "nrd_onload_stacks{kind=\"live\"} 2"));
  CHECK(has_line(second, "nrd_onload_stacks{kind=\"orphan\"} 1"));
}

TEST_CASE("users are counted at most once per interval") {
  Service service;
  service.onload.known.observed.modules["onload"] = a_module("9");
  service.onload.use.users.resize(3);
  service.scrape();
  service.onload.use.users.resize(4);
  CHECK(has_line(service.scrape(), "nrd_onload_users 3"));
}

TEST_CASE("a module's version cannot break the exposition format") {
  Service service;
  service.onload.known.observed.modules["onload"] = a_module("a\"b\\c\n\xff" + std::string(100, 'x'));
  CHECK(has_line(service.scrape(), "nrd_onload_info{version=\"a\\\"b\\\\c??" + std::string(57, 'x') + "\"} 1"));
}

TEST_CASE("the running operation is labelled with its kind") {
  Service service;
  service.onload.known.operations.push_back({.id = 1, .kind = onload::OperationKind::Drain});
  const std::string text = service.scrape();
  CHECK(has_line(text, "nrd_onload_operation_running{kind=\"drain\"} 1"));
  CHECK(has_line(text, "nrd_onload_operation_running{kind=\"change\"} 0"));
}

TEST_CASE("a response is counted once by route and status") {
  routing::RequestCounters counters(routing::route_table());
  counters.count("GET", "/v1/workloads/7", 200);
  counters.count("GET", "/v1/workloads/8/", 200);
  counters.count("GET", "/v1/workloads/9", 299);
  counters.count("BREW", "/v1/workloads", 405);
  const auto counts = counters.counts();
  REQUIRE(counts.size() == 3);
  CHECK(counts[0].route == "/v1/workloads/{id}");
  CHECK(counts[0].status == "200");
  CHECK(counts[0].answers == 2);
  CHECK(counts[1].status == "other");
  CHECK(counts[2].method == "other");
  CHECK(counts[2].route == "none");
  CHECK(counts[2].status == "405");
}

TEST_CASE("the last finished operation is reported as failed until another succeeds") {
  Service service;
  auto& operations = service.onload.known.operations;
  CHECK(has_line(service.scrape(), "nrd_onload_last_operation_failed 0"));
  operations.push_back({.id = 1, .outcome = onload::Outcome::RolledBack});
  operations.push_back({.id = 2, .outcome = onload::Outcome::Running});
  CHECK(has_line(service.scrape(), "nrd_onload_last_operation_failed 1"));
  operations.back().outcome = onload::Outcome::Succeeded;
  CHECK(has_line(service.scrape(), "nrd_onload_last_operation_failed 0"));
}

TEST_CASE("a failed operation is not reported once Onload is unmanaged") {
  Service service;
  auto& known = service.onload.known;
  known.generations.push_back({.number = 1, .verdict = onload::Verdict::Verified});
  known.generations.push_back({.number = 2, .verdict = onload::Verdict::Failed});
  known.operations.push_back({.id = 1, .generation = 2, .outcome = onload::Outcome::RolledBack});
  CHECK(has_line(service.scrape(), "nrd_onload_last_operation_failed 1"));
  known.generations.push_back({.number = 3, .verdict = onload::Verdict::Verified});
  CHECK(has_line(service.scrape(), "nrd_onload_last_operation_failed 0"));
}

TEST_CASE("the fields of a process are those after its name, whatever the name contains") {
  const std::string stat = "7 (a) b ( c) S 1 7 7 0 -1 4194560 1 2 3 4 250 150 0 0 20 0 9 0 100 8192 3 184467440737\n";
  const v1::ProcessStat expected{.cpu_seconds = 4, .threads = 9, .virtual_bytes = 8192, .resident_bytes = 12288};
  CHECK(v1::parse_process_stat(stat, 100, 4096) == expected);
  for (const char* text : {"", "7 nrd S 1", "7 (nrd) S 1 2 3"}) CHECK_FALSE(v1::parse_process_stat(text, 100, 4096));
}

}  // namespace nrd::metrics_test
