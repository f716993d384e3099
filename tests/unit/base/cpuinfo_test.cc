#include "base/cpuinfo.h"

#include <doctest/doctest.h>

#include <ostream>

namespace nrd::cpuinfo_test {

TEST_CASE("the CPU model comes from the first processor of cpuinfo") {
  CHECK(part_of("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n") ==
        Part{"GenuineIntel", 6, 85});
  CHECK(part_of("vendor_id\t: AuthenticAMD\ncpu family\t: 25\n\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n") ==
        Part{"AuthenticAMD", 25, 0});
  CHECK(part_of("vendor_id :   Shanghai  \n").vendor == "Shanghai");
  CHECK(part_of("vendor_id : GenuineIntelligence\n").vendor == "GenuineIntel");
  for (const char* text : {"", "processor\t: 0\n", "vendor_id", "vendor_id\nx: GenuineIntel\n",
                           "vendor_id\t:", "cpu family\t: 6x\nmodel: -1\n"}) {
    INFO("cpuinfo \"" << text << "\"");
    CHECK(part_of(text) == Part{});
  }
}

TEST_CASE("a flag is a whole word of the first processor's flags") {
  constexpr std::string_view kText = "processor\t: 0\nflags\t\t: fpu rdt_a cat_l3\n\nprocessor\t: 1\nflags\t\t: mba\n";
  for (const char* flag : {"fpu", "rdt_a", "cat_l3"}) CHECK(has_flag(kText, flag));
  for (const char* flag : {"rdt", "cat_l", "at_l3", "mba", "", " "}) CHECK_FALSE(has_flag(kText, flag));
  for (const char* text : {"", "flags", "flags\t:", "flags\t: \n"}) CHECK_FALSE(has_flag(text, "fpu"));
  CHECK(has_flag("flags : fpu", "fpu"));
}

}  // namespace nrd::cpuinfo_test
