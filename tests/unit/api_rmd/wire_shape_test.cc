#include "api/rmd/wire_shape.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

using namespace nrd;

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
