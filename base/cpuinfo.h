// The CPU model according to the first processor of /proc/cpuinfo.
#pragma once

#include <string>
#include <string_view>

namespace nrd {

constexpr size_t kCpuinfoLimit = size_t{16} << 20;  // 2 MiB for 1,024 CPUs

struct Part {
  std::string vendor;   // vendor_id: "GenuineIntel"; empty if there is none
  unsigned family = 0;  // cpu family: 6, 25
  unsigned model = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

Part part_of(std::string_view cpuinfo);

// True if `flag` is one of the words of `flags`.
bool has_flag(std::string_view cpuinfo, std::string_view flag);

// "AuthenticAMD family 21 model 2"
std::string to_string(const Part& part);

}  // namespace nrd
