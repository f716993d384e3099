#include "base/way_mask.h"

#include <doctest/doctest.h>

#include <ostream>

namespace nrd::way_mask_test {

TEST_CASE("a list of ways has a range for each run") {
  CHECK(WayMask().list().empty());
  CHECK(WayMask(0x1).list() == "0");
  CHECK(WayMask(0x7f0).list() == "4-10");
  CHECK(WayMask(0x390).list() == "4,7-9");
  CHECK(WayMask(0x80000001).list() == "0,31");
  CHECK(WayMask(0xffffffff).list() == "0-31");
}

}  // namespace nrd::way_mask_test
