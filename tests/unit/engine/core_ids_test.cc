#include "engine/model/core_ids.h"

#include <doctest/doctest.h>

#include "tests/unit/results.h"

namespace nrd::core_ids_test {

using nrd::testing::error_of;
using nrd::testing::value_of;

using nrd::parse_core_ids;

TEST_CASE("lists of CPUs are read as RMD's clients write them") {
  const struct {
    std::vector<std::string> items;
    const char* cpus;
  } kCases[] = {
      {{"4"}, "4"},
      {{"0", "1-3"}, "0-3"},
      {{"0,3,8-15"}, "0,3,8-15"},
      {{"0-7,^3"}, "0-2,4-7"},
      {{"0-7", "^2-3", "^5"}, "0-1,4,6-7"},
      {{"^3,0-7"}, "0-7"},  // only what stands before it is taken away
      {{"0-7,^3,3"}, "0-7"},
      {{" 0 , 2-3 ", "\t^2"}, "0,3"},
      {{"0-3,^ 1"}, "0,2-3"},
      {{"1", "^0-3"}, ""},
  };
  for (const auto& [items, cpus] : kCases) {
    const auto parsed = value_of(parse_core_ids(items));
    CHECK(parsed.to_string() == cpus);
  }
}

TEST_CASE("an invalid CPU list is refused and names the item") {
  for (const char* item :
       {"", " ", ",", "1,", "4-x", "7-3", "^", "^^1", "1^2", "0 1", "0 - 3", "8192", "-1", "0x1", "1-2-3"}) {
    CAPTURE(item);
    const Error parsed = error_of(parse_core_ids({"0", item}));
    CHECK(parsed.field == "/core_ids/1");
    CHECK(parsed.code == nrd::ErrorCode::BadRequest);
  }
}

}  // namespace nrd::core_ids_test
