#include "base/cpu_set.h"

#include <doctest/doctest.h>

namespace nrd::cpu_set_test {

using nrd::CpuId;
using nrd::CpuSet;

TEST_CASE("a CPU list is read as the kernel writes it and printed in its canonical form") {
  struct Row {
    const char* text;
    const char* canonical;
  };
  for (const Row& row : {Row{"0", "0"}, Row{"0-3,8", "0-3,8"}, Row{"3,1,2", "1-3"}, Row{"5-5", "5"}, Row{"1,1,1", "1"},
                         Row{"63-65", "63-65"}, Row{"8191", "8191"}}) {
    CAPTURE(row.text);
    const auto set = CpuSet::parse(row.text);
    REQUIRE(set);
    CHECK(set->to_string() == row.canonical);
    CHECK(CpuSet::parse(row.canonical) == set);
  }
}

TEST_CASE("an invalid CPU list is refused and quoted without control characters") {
  for (const char* text : {"", "abc", "3-1", "-1", "1-", "1,,2", "1,", " 1", "1 ", "1.5", "0x1", "8192", "1-9999999999",
                           "+1", "1-2-3", "\n", "^3"}) {
    CAPTURE(text);
    const auto set = CpuSet::parse(text);
    REQUIRE_FALSE(set);
    CHECK(set.error().code == nrd::ErrorCode::BadRequest);
    CHECK(set.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("an impossible CPU number is refused") {
  for (const auto& [text, cpu] : {std::pair{"8192", "8192"}, std::pair{"0-9999", "9999"},
                                  std::pair{"18446744073709551616", "18446744073709551616"}}) {
    CAPTURE(text);
    const auto set = CpuSet::parse(text);
    REQUIRE_FALSE(set);
    CHECK(set.error().message == "CPU " + std::string(cpu) + " does not exist; Linux numbers CPUs from 0 to 8191");
  }
}

TEST_CASE("sets with the same CPUs are equal") {
  CpuSet set{1, 200};
  set.remove(CpuId{200});
  CHECK(set == CpuSet{1});
  CHECK((CpuSet{1, 300} & CpuSet{1}) == CpuSet{1});
  CHECK((CpuSet{1, 300} - CpuSet{300}) == CpuSet{1});
  CHECK((CpuSet{} | CpuSet{7}) == CpuSet{7});
  CHECK(CpuSet{1, 2}.is_subset_of(CpuSet{1, 2, 3}));
  CHECK_FALSE(CpuSet{1, 4}.is_subset_of(CpuSet{1, 2, 3}));
  CHECK_FALSE(CpuSet{1}.intersects(CpuSet{2}));
}

}  // namespace nrd::cpu_set_test
