#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "api/routing/routes.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::owner_cleanup_test {
namespace {

constexpr std::chrono::seconds kDeadline{30};

bool wait_until(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  return condition();
}

NodeState frozen(NodeState state) {
  state.health.writes_frozen = true;
  return state;
}

}  // namespace

TEST_CASE("a workload whose commit was uncertain ends with its process") {
  FakeEngine engine{a_node()};
  nrd::testing::FakeController controller;
  nrd::testing::Fixture fixture{controller};
  const http::Handler handler =
      routing::routes(fixture.services(engine, controller), {.version = "1.2.3", .counters = fixture.counters});
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const Owner owner = *fixture.owners->identify(child);

  // The commit's outcome is unknown: the client gets a 503 and its process exits.
  const std::string body =
      R"({"core_ids": ["0"], "cache": {"max": 2, "min": 2}, "owner": {"pid": )" + std::to_string(child) + "}}";
  handler({.method = "POST", .path = "/v1/workloads", .content_type = "application/json", .body = body},
          http::Reply([](const http::Response& response) { CHECK(response.status == 503); }));
  engine.publish(frozen(a_node()));
  engine.answer_waiting(fail(ErrorCode::Frozen, "store state unknown; change rejected, try again"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  fixture.owners->watch(owner, &handler, [] { return true; });  // wakes the thread, which looks at all that have ended

  Workload stored = a_workload(1);
  stored.spec.owner = owner;
  Workload other = a_workload(2);
  engine.publish(with(with(a_node(), other), stored));
  REQUIRE(wait_until([&engine] { return engine.commands().size() > 1; }));
  CHECK(std::get<DeleteWorkload>(engine.commands().back()).id == stored.id);
  fixture.owners->stop();
  CHECK(engine.commands().size() == 2);
}

}  // namespace nrd::owner_cleanup_test
