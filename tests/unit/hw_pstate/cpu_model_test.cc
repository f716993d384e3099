#include <doctest/doctest.h>

#include <ostream>

#include "hw/pstate/msr.h"

namespace nrd::pstate::cpu_model_test {

TEST_CASE("registers are supported for CPU models with a known bus clock and P-states") {
  CHECK(registers_of({"GenuineIntel", 6, 0x55}) == RegisterSet::Intel);
  CHECK(registers_of({"AuthenticAMD", 0x17, 1}) == RegisterSet::Amd17h);
  CHECK(registers_of({"AuthenticAMD", 0x19, 0x11}) == RegisterSet::Amd17h);
  CHECK(registers_of({"HygonGenuine", 0x18, 0}) == RegisterSet::Amd17h);
  CHECK(registers_of({"AuthenticAMD", 0x1A, 2}) == RegisterSet::Amd1Ah);
  // 133.33 MHz, another unit of frequency, other makers.
  for (const Part& part : {Part{"GenuineIntel", 6, 0x2C}, Part{"GenuineIntel", 15, 6}, Part{"AuthenticAMD", 0x15, 2},
                           Part{"AuthenticAMD", 0x1B, 0}, Part{"CentaurHauls", 7, 0}, Part{}}) {
    INFO(to_string(part));
    CHECK_FALSE(registers_of(part));
  }
}

}  // namespace nrd::pstate::cpu_model_test
