#include "base/cpuinfo.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/file.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd {
namespace {

constexpr size_t kVendorLength = 12;  // CPUID leaf 0

// The value of the first line with this key; empty if there is none.
std::string_view value_of(std::string_view cpuinfo, std::string_view key) {
  while (!cpuinfo.empty()) {
    const std::string_view line = take_until(cpuinfo, '\n');
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

unsigned number_of(std::string_view cpuinfo, std::string_view key) {
  return parse_number<unsigned>(value_of(cpuinfo, key)).value_or(0);
}

}  // namespace

Part part_of(std::string_view cpuinfo) {
  return {.vendor = std::string(value_of(cpuinfo, "vendor_id").substr(0, kVendorLength)),
          .family = number_of(cpuinfo, "cpu family"),
          .model = number_of(cpuinfo, "model")};
}

bool has_flag(std::string_view cpuinfo, std::string_view flag) {
  return std::ranges::count(split(value_of(cpuinfo, "flags"), " "), flag) > 0;
}

std::string to_string(const Part& part) {
  if (part.vendor.empty()) return "a part that does not tell its vendor";
  return fmt::format("{} family {} model {}", part.vendor, part.family, part.model);
}

}  // namespace nrd
