// Units of frequency. A KHz is the unit of cpufreq; a Ratio is a multiple of the bus clock, as in the hardware's
// registers. RMD also uses "ratio" for something else: that is BranchMissThreshold.
#pragma once

#include <compare>
#include <cstdint>

namespace nrd {

struct KHz {
  uint32_t value = 0;
  friend auto operator<=>(const KHz&, const KHz&) = default;
};

struct Ratio {
  uint32_t value = 0;
  friend auto operator<=>(const Ratio&, const Ratio&) = default;
};

// 100 MHz on every part since Sandy Bridge (SDM vol. 3, 15.7.5: "bus frequency"); AMD's registers count in it as well.
constexpr KHz kBusClock{100'000};

constexpr KHz khz_of(Ratio ratio) { return {ratio.value * kBusClock.value}; }
// Rounded down: a limit of 2.35 GHz is ratio 23.
constexpr Ratio ratio_of(KHz frequency) { return {frequency.value / kBusClock.value}; }

}  // namespace nrd
