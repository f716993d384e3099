#include "daemon/microarchitecture.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace nrd::daemon {
namespace {

struct Models {
  unsigned family;
  unsigned first;
  unsigned last;
  std::string_view name;
};

// CPUs with cache allocation (Linux, arch/x86/include/asm/intel-family.h). The first three use the names of RMD's
// files; Cascade Lake and Cooper Lake share Skylake's model.
constexpr std::array kIntel = {
    Models{6, 0x3d, 0x3d, "broadwell"},       Models{6, 0x47, 0x47, "broadwell"},
    Models{6, 0x4f, 0x4f, "broadwell"},       Models{6, 0x56, 0x56, "broadwell"},
    Models{6, 0x4e, 0x4e, "skylake"},         Models{6, 0x55, 0x55, "skylake"},
    Models{6, 0x5e, 0x5e, "skylake"},         Models{6, 0x8e, 0x8e, "kaby lake"},
    Models{6, 0x9e, 0x9e, "kaby lake"},       Models{6, 0x3f, 0x3f, "haswell"},
    Models{6, 0x6a, 0x6a, "ice lake"},        Models{6, 0x6c, 0x6c, "ice lake"},
    Models{6, 0x8f, 0x8f, "sapphire rapids"}, Models{6, 0xcf, 0xcf, "emerald rapids"},
    Models{6, 0xad, 0xae, "granite rapids"},  Models{6, 0xaf, 0xaf, "sierra forest"},
};

// Linux, arch/x86/kernel/cpu/amd.c.
constexpr std::array kAmd = {
    Models{0x17, 0x00, 0x2f, "zen"},   Models{0x17, 0x50, 0x5f, "zen"},   Models{0x17, 0x30, 0x4f, "zen 2"},
    Models{0x17, 0x60, 0x7f, "zen 2"}, Models{0x17, 0x90, 0x91, "zen 2"}, Models{0x17, 0xa0, 0xaf, "zen 2"},
    Models{0x19, 0x00, 0x0f, "zen 3"}, Models{0x19, 0x20, 0x5f, "zen 3"}, Models{0x19, 0x10, 0x1f, "zen 4"},
    Models{0x19, 0x60, 0xaf, "zen 4"}, Models{0x1a, 0x00, 0x2f, "zen 5"}, Models{0x1a, 0x40, 0x4f, "zen 5"},
    Models{0x1a, 0x60, 0x7f, "zen 5"},
};

template <typename Table>
std::string name_in(const Table& table, const Part& part) {
  const auto found = std::ranges::find_if(table, [&part](const Models& models) {
    return models.family == part.family && models.first <= part.model && part.model <= models.last;
  });
  return found == table.end() ? std::string() : std::string(found->name);
}

}  // namespace

std::string microarchitecture_of(const Part& part, const CpuMap& map) {
  const auto mapped = map.find({part.family, part.model});
  if (mapped != map.end()) return mapped->second;
  if (part.vendor == "GenuineIntel") return name_in(kIntel, part);
  if (part.vendor == "AuthenticAMD") return name_in(kAmd, part);
  return {};
}

}  // namespace nrd::daemon
