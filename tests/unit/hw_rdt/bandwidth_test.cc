#include "hw/rdt/bandwidth.h"

#include <doctest/doctest.h>

#include <ostream>

#include "hw/rdt/resctrl.h"

namespace nrd::rdt::bandwidth_test {

using Values = std::map<CacheId, uint32_t>;

TEST_CASE("the MB line is found among padding and other resources") {
  CHECK(parse_mb("    MB:0=100;4= 90\n    L3:0=7ff;4=00f\n") == Values{{CacheId{3, 0}, 100}, {CacheId{3, 4}, 90}});
  CHECK(parse_mb("    L3:0=7ff\n    MB:0=4294967295\n") == Values{{CacheId{3, 0}, kUnlimitedMbps}});
  CHECK(parse_mb("    L3:0=7ff\n") == Values{});
}

TEST_CASE("an MB line that was cut off or says something impossible is refused") {
  for (const char* text : {"MB:0=100", "MB:\n", "MB:0\n", "MB:0=\n", "MB:0=1;\n", "MB:0=1;0=2\n", "MB:0=ff\n",
                           "MB:0=4294967296\n", "MB:0=-1\n"}) {
    INFO("schemata \"" << text << "\"");
    CHECK_FALSE(parse_mb(text).has_value());
  }
}

TEST_CASE("the bandwidth unit follows from CPU, mount and the value of an unlimited group") {
  CHECK(unit_of(false, false, 100) == MbaUnit::Percent);
  CHECK(unit_of(false, false, 4294967295) == MbaUnit::Mbps);
  CHECK(unit_of(false, true, 100) == MbaUnit::Mbps);  // every group is limited
  CHECK(unit_of(true, false, 2048) == MbaUnit::EighthsOfGbps);
}

TEST_CASE("a root class that other software has limited does not lower the largest limit") {
  CHECK(most_in(MbaUnit::Percent, false, 50) == 100);
  CHECK(most_in(MbaUnit::Mbps, true, 5000) == kUnlimitedMbps);
  CHECK(most_in(MbaUnit::Mbps, false, 5000) == 5000);  // only known by being above 100
  CHECK(most_in(MbaUnit::EighthsOfGbps, false, 80) == 2048);
  CHECK(most_in(MbaUnit::EighthsOfGbps, false, 4096) == 4096);
}

TEST_CASE("only mba_MBps of the resctrl mount counts") {
  constexpr const char* kOther = "31 20 0:27 / /mnt/mba_MBps rw - tmpfs mba_MBps rw\n";
  CHECK_FALSE(is_mounted_in_mbps(""));
  CHECK_FALSE(is_mounted_in_mbps(kOther));
  CHECK_FALSE(is_mounted_in_mbps("30 20 0:26 / /sys/fs/resctrl rw - resctrl resctrl rw\n"));
  CHECK(is_mounted_in_mbps(std::string(kOther) + "30 20 0:26 / /sys/fs/resctrl rw - resctrl resctrl rw,mba_MBps\n"));
}

TEST_CASE("a limit is never written in a different unit") {
  Observed observed;
  observed.classes[ClosId{2}].bandwidth = {{CacheId{3, 0}, 100}, {CacheId{3, 1}, 50}};
  Setting wanted;
  wanted.bandwidth[ClosId{2}] = {{CacheId{3, 0}, {MbaUnit::Percent, 50}}, {CacheId{3, 1}, {MbaUnit::Percent, 50}}};
  const MbaInfo percent{.step = 10, .least = 10};
  CHECK(*limits_to_write(observed, wanted, percent) == Limits{{ClosId{2}, {{CacheId{3, 0}, 50}}}});
  MbaInfo mbps = percent;
  mbps.unit = MbaUnit::Mbps;
  CHECK_FALSE(limits_to_write(observed, wanted, mbps));
  CHECK_FALSE(limits_to_write(observed, wanted, std::nullopt));
}

}  // namespace nrd::rdt::bandwidth_test
