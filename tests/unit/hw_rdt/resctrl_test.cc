#include "hw/rdt/resctrl.h"

#include <doctest/doctest.h>

#include <ostream>

namespace nrd::rdt {

using Ways = std::map<CacheId, WayMask>;

TEST_CASE("the L3 line is found among padding and other resources") {
  const Ways expected{{CacheId{0}, WayMask(0x7ff)}, {CacheId{4}, WayMask(0xf)}};
  CHECK(parse_l3("L3:0=7ff;4=00f\n") == expected);
  CHECK(parse_l3("    MB:0=100;4= 90\n    L3:0=7ff;4=00f\n") == expected);
  CHECK(parse_l3("    L3:0=7ff;4=f\n    L2:0=3\n") == expected);
}

TEST_CASE("the caches of an L3 line stand in any order and may be one") {
  CHECK(parse_l3("    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n") ==
        Ways{{CacheId{0}, WayMask(0x7ff)}, {CacheId{1}, WayMask(0x7ff)}});
  CHECK(parse_l3("L3:12=1;3=2;0=4\n") ==
        Ways{{CacheId{0}, WayMask(4)}, {CacheId{3}, WayMask(2)}, {CacheId{12}, WayMask(1)}});
  CHECK(parse_l3("L3:0=fffff\n") == Ways{{CacheId{0}, WayMask(0xfffff)}});
  CHECK(parse_l3("L3:0=ffffffff\n") == Ways{{CacheId{0}, WayMask(0xffffffff)}});
}

TEST_CASE("a schemata that was cut off is refused") {
  for (const char* text : {"", "L3:0=7ff;1=7", "    L", "MB:0=100\n", "L3:\n", "L3:0\n", "L3:0=\n", "L3:0=7ff;\n",
                           "L3:0=7ff;1\n", "L3:0=7ff;1=\n"}) {
    INFO("schemata \"" << text << "\"");
    CHECK_FALSE(parse_l3(text).has_value());
  }
}

TEST_CASE("a schemata that says something impossible is refused") {
  for (const char* text : {"L3:0=0\n", "L3:0=zz\n", "L3:a=f\n", "L3:0=f;0=f0\n", "L3:0=1ffffffff\n", "L3CODE:0=f\n",
                           "L3CODE:0=7ff\n    L3DATA:0=7ff\n", "L3:0=-1\n", "L3:-1=f\n", "L3:0=0xf\n", "L3:0=f f\n"}) {
    INFO("schemata \"" << text << "\"");
    CHECK_FALSE(parse_l3(text).has_value());
  }
}

TEST_CASE("a refused file is quoted in the detail and not in the message") {
  const Result<Ways> refused = parse_l3("L3:0=zz\n");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::Hardware);
  CHECK(refused.error().detail.find("L3:0=zz") != std::string::npos);
  CHECK(refused.error().message.find("zz") == std::string::npos);
}

TEST_CASE("a CPU list is read whole or not at all") {
  CHECK(parse_cpus("0-3,8\n") == CpuSet{0, 1, 2, 3, 8});
  CHECK(parse_cpus("\n") == CpuSet{});
  for (const char* text : {"", "0-1", "0-\n", "3-1\n", "0 1\n", "a\n", "99999\n"}) {
    INFO("cpus_list \"" << text << "\"");
    CHECK_FALSE(parse_cpus(text).has_value());
  }
}

TEST_CASE("info tells ways, the least mask and what I/O shares") {
  const auto cat = parse_l3_info("7ff\n", "2\n", "600\n");
  REQUIRE(cat.has_value());
  CHECK(*cat == L3Cat{.classes = 0, .ways = 11, .min_ways = 2, .shareable = WayMask(0x600)});
}

TEST_CASE("a kernel without shareable_bits shares nothing") {
  const auto cat = parse_l3_info("fffff\n", "1\n", std::nullopt);
  REQUIRE(cat.has_value());
  CHECK(*cat == L3Cat{.classes = 0, .ways = 20, .min_ways = 1, .shareable = {}});
}

TEST_CASE("vanished info is no L3 CAT and no failure") {
  CHECK(parse_l3_info(std::nullopt, std::nullopt, std::nullopt).value() == std::nullopt);
  CHECK(parse_l3_info("7ff\n", std::nullopt, "0\n").value() == std::nullopt);
}

TEST_CASE("info that was cut off is refused") {
  CHECK_FALSE(parse_l3_info("", "1\n", "0\n").has_value());
  CHECK_FALSE(parse_l3_info("7f", "1\n", "0\n").has_value());
  CHECK_FALSE(parse_l3_info("7ff\n", "\n", "0\n").has_value());
  CHECK_FALSE(parse_l3_info("7ff\n", "1\n", "").has_value());
}

TEST_CASE("only names that libpqos gives are classes") {
  CHECK(class_of("COS1") == ClosId{1});
  CHECK(class_of("COS16") == ClosId{16});
  for (const char* name :
       {"COS", "COS0", "COS01", "COS1x", "cos1", "theirs", "", "COS-1", "COS99999999999", "COS+1", "COS 1", "COS1/"}) {
    INFO("group \"" << name << "\"");
    CHECK(class_of(name) == std::nullopt);
  }
  CHECK(directory_of(ClosId{0}) == "");
  CHECK(directory_of(ClosId{3}) == "/COS3");
}

}  // namespace nrd::rdt
