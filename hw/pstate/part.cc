#include "hw/pstate/part.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.h"

namespace nrd::pstate {
namespace {

constexpr size_t kVendorLength = 12;  // CPUID leaf 0

// Intel parts of family 6 whose bus clock is not 100 MHz (SDM vol. 4, chapter 2: MSR_PLATFORM_INFO of each): Nehalem
// and Westmere count 133.33 MHz, Silvermont and Airmont what MSR_FSB_FREQ says.
constexpr std::array<unsigned, 13> kOtherBusClock = {0x1A, 0x1E, 0x1F, 0x2E, 0x25, 0x2C, 0x2F,
                                                     0x37, 0x4A, 0x4D, 0x5A, 0x5D, 0x4C};

// The value of the first line with this key; empty if there is none.
std::string_view value_of(std::string_view cpuinfo, std::string_view key) {
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(line.size() + 1, cpuinfo.size()));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

unsigned number_of(std::string_view cpuinfo, std::string_view key) {
  const std::string_view digits = value_of(cpuinfo, key);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : 0;
}

}  // namespace

Part part_of(std::string_view cpuinfo) {
  return {.vendor = std::string(value_of(cpuinfo, "vendor_id").substr(0, kVendorLength)),
          .family = number_of(cpuinfo, "cpu family"),
          .model = number_of(cpuinfo, "model")};
}

std::string to_string(const Part& part) {
  if (part.vendor.empty()) return "a part that does not tell its vendor";
  return part.vendor + " family " + std::to_string(part.family) + " model " + std::to_string(part.model);
}

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
