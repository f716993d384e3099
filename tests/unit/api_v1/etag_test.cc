#include "api/routing/etag.h"

#include <doctest/doctest.h>

#include "api/v1/workload_etag.h"
#include "tests/unit/api_v1/fake_engine.h"

namespace nrd::etag_test {

TEST_CASE("an ETag contains id, revision and whether the grant is applied") {
  Workload workload = a_workload(7);
  workload.revision = 3;
  CHECK(v1::etag_of(with(a_node(), workload), workload) == "\"7-3\"");
  CHECK(v1::etag_of(a_node(), workload) == "\"7-3f\"");
}

TEST_CASE("If-None-Match is compared with each tag of the list") {
  for (const char* list : {"\"7-3\"", "W/\"7-3\"", "\"1-1\", \"7-3\"", "*", " \"7-3\" ,"}) {
    CHECK_MESSAGE(routing::has_already(list, "\"7-3\""), list);
  }
  for (const char* list : {"", "\"7-4\"", "7-3", "\"7-3f\"", ",", "\"7-3"}) {
    CHECK_MESSAGE(!routing::has_already(list, "\"7-3\""), list);
  }
}

TEST_CASE("If-Match matches revisions of its own workload only") {
  using Revisions = std::vector<uint64_t>;
  constexpr WorkloadId kSeven{7};
  CHECK(v1::revisions_of("", kSeven) == std::nullopt);
  CHECK(v1::revisions_of("\"7-1\", *", kSeven) == std::nullopt);
  CHECK(v1::revisions_of("\"7-3\"", kSeven) == Revisions{3});
  CHECK(v1::revisions_of("\"7-3f\", \"7-4\"", kSeven) == Revisions{3, 4});
  for (const char* other : {"\"77-3\"", "W/\"7-3\"", "7-3", "\"7-\"", "\"7-3x\"", "\"7-99999999999999999999\"", ","}) {
    CHECK_MESSAGE(v1::revisions_of(other, kSeven) == Revisions{}, other);
  }
}

}  // namespace nrd::etag_test
