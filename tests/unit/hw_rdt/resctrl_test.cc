#include "hw/rdt/resctrl.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/rdt/groups.h"

namespace nrd::rdt::resctrl_test {

using Ways = std::map<CacheId, WayMask>;

namespace {

Ways ways_in(const char* schemata) {
  const Result<Masks> masks = parse_masks(schemata);
  REQUIRE(masks);
  CHECK(masks->split.empty());
  return masks->ways;
}

}  // namespace

TEST_CASE("the L3 line is found among padding and other resources") {
  const Ways expected{{CacheId{3, 0}, WayMask(0x7ff)}, {CacheId{3, 4}, WayMask(0xf)}};
  CHECK(ways_in("L3:0=7ff;4=00f\n") == expected);
  CHECK(ways_in("    MB:0=100;4= 90\n    L3:0=7ff;4=00f\n") == expected);
}

TEST_CASE("the caches of an L3 line stand in any order and may be one") {
  CHECK(ways_in("    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n") ==
        Ways{{CacheId{3, 0}, WayMask(0x7ff)}, {CacheId{3, 1}, WayMask(0x7ff)}});
  CHECK(ways_in("L3:12=1;3=2;0=4\n") ==
        Ways{{CacheId{3, 0}, WayMask(4)}, {CacheId{3, 3}, WayMask(2)}, {CacheId{3, 12}, WayMask(1)}});
  CHECK(ways_in("L3:0=fffff\n") == Ways{{CacheId{3, 0}, WayMask(0xfffff)}});
  CHECK(ways_in("L3:0=ffffffff\n") == Ways{{CacheId{3, 0}, WayMask(0xffffffff)}});
}

TEST_CASE("L2 is read where there is no L3") {
  CHECK(ways_in("    L2:0=ff;1=0f\n") == Ways{{CacheId{2, 0}, WayMask(0xff)}, {CacheId{2, 1}, WayMask(0xf)}});
  CHECK(ways_in("L2DATA:0=ff\nL2CODE:0=ff\n") == Ways{{CacheId{2, 0}, WayMask(0xff)}});
}

TEST_CASE("secondary L2 caches have their own numbers") {
  const CacheId l2{2, 0};
  const Ways both{{CacheId{3, 0}, WayMask(0x7ff)}, {l2, WayMask(0xff)}};
  CHECK(ways_in("    L2:0=ff\n    L3:0=7ff\n") == both);
  CHECK(ways_in("    MB:0=100\n    L3:0=7ff\n    L2:0=ff\n") == both);
  CHECK(ways_in("L3:0=7ff\nL2DATA:0=ff\nL2CODE:0=ff\n") == both);
  CHECK(ways_in("L3DATA:0=7ff\nL3CODE:0=7ff\nL2:0=ff\n") == both);
  const Result<Masks> apart = parse_masks("L3:0=7ff\nL2DATA:0=f0\nL2CODE:0=0f\n");
  REQUIRE(apart);
  CHECK(apart->ways == both);
  CHECK(apart->split == std::map<CacheId, Split>{{l2, {.code = WayMask(0xf), .data = WayMask(0xf0)}}});
  CHECK_FALSE(parse_masks("L3:0=7ff\nL2:0=zz\n"));
}

TEST_CASE("code and data masks are merged, and differences are reported") {
  CHECK(ways_in("    MB:0=100\nL3DATA:0=7ff;1=00f\nL3CODE:0=7ff;1=00f\n") ==
        Ways{{CacheId{3, 0}, WayMask(0x7ff)}, {CacheId{3, 1}, WayMask(0xf)}});
  const Result<Masks> apart = parse_masks("L3DATA:0=003;1=00f\nL3CODE:0=00c;1=00f\n");
  REQUIRE(apart);
  CHECK(apart->ways == Ways{{CacheId{3, 0}, WayMask(0xf)}, {CacheId{3, 1}, WayMask(0xf)}});
  CHECK(apart->split == std::map<CacheId, Split>{{CacheId{3, 0}, {.code = WayMask(0xc), .data = WayMask(0x3)}}});
}

TEST_CASE("a truncated schemata is refused") {
  for (const char* text : {"", "L3:0=7ff;1=7", "    L", "MB:0=100\n", "L3:\n", "L3:0\n", "L3:0=\n", "L3:0=7ff;\n",
                           "L3:0=7ff;1\n", "L3:0=7ff;1=\n"}) {
    INFO("schemata \"" << text << "\"");
    CHECK_FALSE(parse_masks(text).has_value());
  }
}

TEST_CASE("a mask may be empty, which AMD's kernels allow") {
  CHECK(parse_masks("L3:0=0;1=f\n")->ways ==
        std::map<CacheId, WayMask>{{CacheId{3, 0}, {}}, {CacheId{3, 1}, WayMask(0xf)}});
}

TEST_CASE("the ways of devices come from io_alloc while it is enabled") {
  CHECK(parse_io_alloc("enabled\n", "0=600;1=ff\n") ==
        std::map<CacheId, WayMask>{{CacheId{3, 0}, WayMask(0x600)}, {CacheId{3, 1}, WayMask(0xff)}});
  CHECK(parse_io_alloc("disabled\n", "0=600\n")->empty());
  CHECK(parse_io_alloc("not supported\n", std::nullopt)->empty());
  CHECK(parse_io_alloc(std::nullopt, std::nullopt)->empty());
  CHECK_FALSE(parse_io_alloc("enabled\n", "0=60"));
  CHECK_FALSE(parse_io_alloc("enabled\n", "0=x\n"));
}

TEST_CASE("an impossible schemata is refused") {
  for (const char* text :
       {"L3:0=zz\n", "L3:a=f\n", "L3:0=f;0=f0\n", "L3:0=1ffffffff\n", "L3CODE:0=f\n", "L3CODE:0=7ff\nL3DATA:1=7ff\n",
        "L3CODE:0=f\nL3DATA:0=f;1=f\n", "L3:0=-1\n", "L3:-1=f\n", "L3:0=0xf\n", "L3:0=f f\n"}) {
    INFO("schemata \"" << text << "\"");
    CHECK_FALSE(parse_masks(text).has_value());
  }
}

TEST_CASE("a refused file is quoted in the detail and not in the message") {
  const Result<Masks> refused = parse_masks("L3:0=zz\n");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::Hardware);
  CHECK(refused.error().detail.find("0=zz") != std::string::npos);
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

TEST_CASE("info has ways, the minimum mask and the ways shared with I/O") {
  const auto cat = parse_cat_info("L3", "7ff\n", "2\n", "600\n");
  REQUIRE(cat.has_value());
  CHECK(*cat == Cat{.classes = 0, .ways = 11, .min_ways = 2, .shareable = WayMask(0x600)});
}

TEST_CASE("a kernel without shareable_bits shares nothing") {
  const auto cat = parse_cat_info("L3", "fffff\n", "1\n", std::nullopt);
  REQUIRE(cat.has_value());
  CHECK(*cat == Cat{.classes = 0, .ways = 20, .min_ways = 1, .shareable = {}});
}

TEST_CASE("missing info means no L3 CAT and is no error") {
  CHECK(parse_cat_info("L3", std::nullopt, std::nullopt, std::nullopt).value() == std::nullopt);
  CHECK(parse_cat_info("L3", "7ff\n", std::nullopt, "0\n").value() == std::nullopt);
}

TEST_CASE("truncated info is refused") {
  CHECK_FALSE(parse_cat_info("L3", "", "1\n", "0\n").has_value());
  CHECK_FALSE(parse_cat_info("L3", "7f", "1\n", "0\n").has_value());
  CHECK_FALSE(parse_cat_info("L3", "7ff\n", "\n", "0\n").has_value());
  CHECK_FALSE(parse_cat_info("L3", "7ff\n", "1\n", "").has_value());
}

TEST_CASE("an error names the file below info") {
  CHECK(parse_cat_info("L2CODE", "7f", "1\n", "0\n").error().detail == "/sys/fs/resctrl/info/L2CODE/cbm_mask: \"7f\"");
}

TEST_CASE("only group names of libpqos are classes") {
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

}  // namespace nrd::rdt::resctrl_test
