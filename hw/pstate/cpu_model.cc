#include "hw/pstate/cpu_model.h"

#include <algorithm>
#include <array>

namespace nrd::pstate {
namespace {

// Intel CPUs of family 6 whose bus clock is not 100 MHz (SDM vol. 4, chapter 2: MSR_PLATFORM_INFO of each): 133.33 MHz
// on Nehalem and Westmere, the one in MSR_FSB_FREQ on Silvermont and Airmont.
constexpr std::array<unsigned, 13> kOtherBusClock = {0x1A, 0x1E, 0x1F, 0x2E, 0x25, 0x2C, 0x2F,
                                                     0x37, 0x4A, 0x4D, 0x5A, 0x5D, 0x4C};

}  // namespace

std::optional<RegisterSet> registers_of(const Part& part) {
  if (part.vendor == "GenuineIntel" && part.family == 6) {
    const bool is_other = std::ranges::find(kOtherBusClock, part.model) != kOtherBusClock.end();
    return is_other ? std::nullopt : std::optional(RegisterSet::Intel);
  }
  if (part.vendor != "AuthenticAMD" && part.vendor != "HygonGenuine") return std::nullopt;
  if (part.family >= 0x17 && part.family <= 0x19) return RegisterSet::Amd17h;
  if (part.family == 0x1A) return RegisterSet::Amd1Ah;
  return std::nullopt;
}

}  // namespace nrd::pstate
