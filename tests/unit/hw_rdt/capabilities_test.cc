#include "hw/rdt/capabilities.h"

#include <doctest/doctest.h>

#include <ostream>

namespace nrd::rdt::capabilities_test {

TEST_CASE("capabilities are the flags of the part") {
  CHECK(flags_in("") == Capabilities{});
  CHECK(flags_in("flags : fpu\n") == Capabilities{});
  Capabilities expected;
  expected.rdt = expected.l3_cat = expected.monitoring = true;
  CHECK(flags_in("flags : rdt_a cat_l3 cqm cqm_llc\n") == expected);
  expected.l2_cat = expected.l3_cdp = expected.mba = true;
  CHECK(flags_in("flags : mba cdp_l3 cat_l2 rdt_a cat_l3 cqm\n") == expected);
  expected.l2_cdp = true;
  CHECK(flags_in("flags : mba cdp_l3 cat_l2 cdp_l2 rdt_a cat_l3 cqm\n") == expected);
}

TEST_CASE("info has step and minimum of memory bandwidth") {
  CHECK(parse_mba_info("10\n", "20\n").value() == MbaInfo{.step = 10, .least = 20});
  CHECK(parse_mba_info("1\n", "0\n").value() == MbaInfo{.step = 1, .least = 0});
}

TEST_CASE("missing info means no MBA, and a truncated file is an error") {
  CHECK(parse_mba_info(std::nullopt, std::nullopt).value() == std::nullopt);
  CHECK(parse_mba_info("10\n", std::nullopt).value() == std::nullopt);
  for (const char* text : {"", "1", "x\n", "-1\n"}) {
    INFO("\"" << text << "\"");
    CHECK_FALSE(parse_mba_info(text, "10\n").has_value());
    CHECK_FALSE(parse_mba_info("10\n", text).has_value());
  }
}

}  // namespace nrd::rdt::capabilities_test
