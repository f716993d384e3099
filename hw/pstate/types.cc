#include "hw/pstate/types.h"

namespace nrd::pstate {
namespace {

constexpr Ratio kHighest{0xFF};  // of 8 bits

}  // namespace

Result<void> check_for_registers(CpuId cpu, Interface way, const FrequencySetting& wanted) {
  if (way == Interface::Cpufreq) return {};
  if (!wanted.governor.empty() || !wanted.epp.empty()) {
    return fail(ErrorCode::Unsupported, text_of(cpu) + " has no governor and no EPP without a cpufreq driver");
  }
  for (const KHz frequency : {wanted.min, wanted.max}) {
    if (is_amd(way)) break;  // its P-states may have any frequency
    const Ratio ratio = ratio_of(frequency);
    if (khz_of(ratio) == frequency && ratio <= kHighest) continue;
    return fail(ErrorCode::BadRequest, text_of(cpu) + " does not take " + std::to_string(frequency.value) +
                                           " kHz, only multiples of " + std::to_string(kBusClock.value) + " up to " +
                                           std::to_string(khz_of(kHighest).value));
  }
  if (!takes_window(way) && wanted.min != wanted.max) {
    return fail(ErrorCode::BadRequest, text_of(cpu) + " supports a single frequency only, not a window: min " +
                                           std::to_string(wanted.min.value) + " kHz and max " +
                                           std::to_string(wanted.max.value) + " kHz must be the same");
  }
  return {};
}

}  // namespace nrd::pstate
