#include "api/rmd/wire_shape.h"

#include <doctest/doctest.h>

#include "api/rmd/texts.h"
#include "base/json/reader.h"

namespace nrd::wire_shape_test {

TEST_CASE("a pointer of the engine is mapped to the shape of the request") {
  const Error error{ErrorCode::BadRequest, "/cache/min", "", {}, {}, {}};
  const auto shape = [](const char* body) { return rmd::shape_of(*json::parse(body)); };
  CHECK(rmd::pointing_into(shape(R"({"rdt": {"cache": {"max": 1}}})"), error).field == "/rdt/cache/min");
  CHECK(rmd::pointing_into(shape(R"({"cache": {"max": 1}})"), error).field == "/cache/min");
  const rmd::Shape nested{.has_nested_cache = true, .has_nested_pstate = true};
  CHECK(rmd::pointing_into(nested, {ErrorCode::CpuTaken, "/core_ids", "", {}, {}, {}}).field == "/core_ids");
  const Error pstate{ErrorCode::BadRequest, "/pstate/epp", "", {}, {}, {}};
  CHECK(rmd::pointing_into(shape(R"({"plugins": {"pstate": {}}})"), pstate).field == "/plugins/pstate/epp");
  CHECK(rmd::pointing_into(shape(R"({"pstate": {}, "plugins": {"pstate": {}}})"), pstate).field == "/pstate/epp");
}

TEST_CASE("each part is found in both shapes, the newer one first") {
  const json::Value body = *json::parse(R"({"rdt": {"cache": {"max": 1}, "mba": {"mbps": 2}}, "cache": {"max": 1},
                                            "plugins": {"pstate": {"ratio": 3.0}, "other": {}}, "pstate": {}})");
  const auto parts = rmd::parts_of(body);
  REQUIRE(parts);
  REQUIRE(parts->cache.size() == 2);
  CHECK(parts->cache.front().pointer == "/rdt/cache");
  CHECK(parts->cache.back().pointer == "/cache");
  REQUIRE(parts->mba.size() == 1);
  CHECK(*parts->mba.front().value == *json::parse(R"({"mbps": 2})"));
  CHECK(parts->pstate.size() == 2);
  CHECK(rmd::ratio_literal(body) == "3.0");
}

TEST_CASE("null in place of the outer object counts for its parts") {
  const json::Value body = *json::parse(R"({"rdt": null, "plugins": null})");
  const auto parts = rmd::parts_of(body);
  REQUIRE(parts);
  for (const auto& places : {parts->cache, parts->mba, parts->pstate}) {
    REQUIRE(places.size() == 1);
    CHECK(places.front().value->is_null());
  }
}

TEST_CASE("other keys of the newer shape are refused") {
  CHECK(rmd::parts_of(*json::parse(R"({"rdt": {"cach": {}}})")).error().field == "/rdt/cach");
  CHECK(rmd::parts_of(*json::parse(R"({"rdt": []})")).error().field == "/rdt");
  CHECK(rmd::parts_of(*json::parse(R"({"plugins": {"other": 1}})")).error().field == "/plugins/other");
  CHECK(rmd::parts_of(*json::parse(R"({"plugins": ""})")));
}

TEST_CASE("a memory bandwidth out of range is refused with RMD's text") {
  const Error error{.code = ErrorCode::BadRequest,
                    .field = "/rdt/mba/percentage",
                    .message = "expected a whole number, found 101",
                    .detail = {},
                    .allowed = "1 to 100",
                    .subject = "101"};
  CHECK(rmd::workload_refused(error, "") ==
        "Failed to validate workload. Reason: MBA values in should range from 1 to 100, found 101");
}

}  // namespace nrd::wire_shape_test
