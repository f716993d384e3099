#include <doctest/doctest.h>

#include <utility>

#include "api/routing/routes.h"
#include "tests/unit/api_v1/fake_controller.h"
#include "tests/unit/api_v1/fake_engine.h"
#include "tests/unit/api_v1/fixtures.h"

namespace nrd::operations_test {

TEST_CASE("a client that is limited to its own workloads sees no operation of others") {
  NodeState state = with(a_node(), a_workload(3));
  state.memory_moves.edit()[1] =
      MemoryMove{.workload = WorkloadId{3}, .workload_text = "3", .state = MemoryMove::State::Succeeded};
  FakeEngine engine{std::move(state)};
  nrd::testing::FakeController controller;
  nrd::testing::Fixture fixture{controller};
  const http::Handler handler =
      routing::routes(fixture.services(engine, controller), {.version = "1.2.3", .counters = fixture.counters});
  for (const auto& [is_limited, status] : {std::pair{false, 200}, std::pair{true, 404}}) {
    http::Request request{.method = "GET", .path = "/v1/operations/1"};
    request.is_limited_to_own = is_limited;
    int answered = 0;
    handler(request, http::Reply([&answered](const http::Response& response) { answered = response.status; }));
    CHECK(answered == status);
  }
}

}  // namespace nrd::operations_test
