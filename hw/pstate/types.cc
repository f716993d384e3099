#include "hw/pstate/types.h"

#include <fmt/core.h>

#include <algorithm>

namespace nrd::pstate {
namespace {

constexpr Ratio kHighest{0xFF};  // of 8 bits

}  // namespace

KHz highest_of(const Cpu& cpu, std::optional<bool> turbo) {
  return turbo == false && cpu.base ? std::min(*cpu.base, cpu.max) : cpu.max;
}

FrequencySetting shown(FrequencySetting written, const Cpu& cpu, std::optional<bool> turbo) {
  written.max = std::min(written.max, highest_of(cpu, turbo));
  written.min = std::min(written.min, written.max);
  return written;
}

// Drivers with a table show what was written.
FrequencySetting without_hidden_maximum(FrequencySetting found, const Cpu& cpu, std::optional<bool> turbo) {
  const bool may_hide = turbo == false && cpu.base && cpu.way == Interface::Cpufreq && cpu.steps.empty();
  if (may_hide && found.max == highest_of(cpu, turbo)) found.max = kNoLimit;
  return found;
}

Result<void> check_for_registers(CpuId cpu, Interface way, const FrequencySetting& wanted) {
  if (way == Interface::Cpufreq) return {};
  if (!wanted.governor.empty() || !wanted.epp.empty()) {
    return fail(ErrorCode::Unsupported, text_of(cpu) + " has no governor and no EPP without a cpufreq driver");
  }
  for (const KHz frequency : {wanted.min, wanted.max}) {
    if (is_amd(way)) break;  // its P-states may have any frequency
    const Ratio ratio = ratio_of(frequency);
    if (khz_of(ratio) == frequency && ratio <= kHighest) continue;
    return fail(ErrorCode::BadRequest,
                fmt::format("{} does not take {} kHz, only multiples of {} up to {}", text_of(cpu), frequency.value,
                            kBusClock.value, khz_of(kHighest).value));
  }
  if (!takes_window(way) && wanted.min != wanted.max) {
    return fail(
        ErrorCode::BadRequest,
        fmt::format("{} supports a single frequency only, not a window: min {} kHz and max {} kHz must be the same",
                    text_of(cpu), wanted.min.value, wanted.max.value));
  }
  return {};
}

}  // namespace nrd::pstate
