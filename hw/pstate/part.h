// Which CPU this is, as far as its registers depend on it. From /proc/cpuinfo, whose first processor speaks for all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hw/pstate/types.h"

namespace nrd::pstate {

struct Part {
  std::string vendor;   // vendor_id: "GenuineIntel"; empty if there is none
  unsigned family = 0;  // cpu family: 6, 25
  unsigned model = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

Part part_of(std::string_view cpuinfo);

// "AuthenticAMD family 21 model 2"
std::string to_string(const Part& part);

// Whose registers nrd knows.
enum class RegisterSet { Intel, Amd17h, Amd1Ah };
std::optional<RegisterSet> registers_of(const Part& part);

}  // namespace nrd::pstate
