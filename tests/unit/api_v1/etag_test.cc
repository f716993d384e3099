#include "api/routing/etag.h"

#include <doctest/doctest.h>

#include "api/v1/workload_etag.h"
#include "tests/unit/api_v1/fake_engine.h"

namespace nrd::etag_test {

TEST_CASE("an ETag contains id, revision and a hash of the answer") {
  Workload workload = a_workload(7);
  workload.revision = 3;
  const std::string tag = v1::etag_of(workload, "{}");
  CHECK(tag == "\"7-3-44136fa355b3678a\"");
  CHECK(v1::etag_of(workload, R"({"status":"Failed"})") != tag);
  CHECK(v1::revisions_of(tag, WorkloadId{7}) == std::vector<uint64_t>{3});
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
  CHECK(v1::revisions_of("\"7-3-0000000000000000\", \"7-4-0000000000000000\"", kSeven) == Revisions{3, 4});
  for (const char* other :
       {"\"77-3-0000000000000000\"", "W/\"7-3-0000000000000000\"", "7-3", "\"7-\"", "\"7-3\"",
        "\"7-3-000000000000000\"", "\"7-3x0000000000000000\"", "\"7-99999999999999999999-0000000000000000\"", ","}) {
    CHECK_MESSAGE(v1::revisions_of(other, kSeven) == Revisions{}, other);
  }
}

}  // namespace nrd::etag_test
