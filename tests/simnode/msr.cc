#include "msr.h"

#include <algorithm>
#include <cerrno>

namespace nrd::simnode {
namespace {

constexpr std::uint32_t kPlatformInfo = 0xce;  // MSR_PLATFORM_INFO: base ratio 15:8, lowest ratio 47:40
constexpr std::uint32_t kPerfStatus = 0x198;   // IA32_PERF_STATUS: ratio 15:8
constexpr std::uint32_t kPerfCtl = 0x199;      // IA32_PERF_CTL: ratio 15:8, turbo disengaged 32
constexpr std::uint32_t kTurboRatios =
    0x1ad;                                  // MSR_TURBO_RATIO_LIMIT: highest ratio with 1 to 8 cores busy, a byte each
constexpr std::uint32_t kPmEnable = 0x770;  // IA32_PM_ENABLE: HWP enabled 0; one for the whole package
constexpr std::uint32_t kCapabilities = 0x771;  // IA32_HWP_CAPABILITIES: highest, guaranteed, efficient, lowest ratio
constexpr std::uint32_t kHwpRequest = 0x774;    // IA32_HWP_REQUEST: lowest, highest, desired ratio, preference

constexpr std::uint32_t kAmdLimit = 0xc0010061;    // slowest P-state 6:4, fastest allowed 2:0; read-only
constexpr std::uint32_t kAmdControl = 0xc0010062;  // P-state asked for 2:0
constexpr std::uint32_t kAmdStatus = 0xc0010063;   // P-state it runs at 2:0; read-only
constexpr std::uint32_t kAmdDefinition =
    0xc0010064;  // of P0 and, following, P1 and P2; those after them are not enabled
constexpr std::uint64_t kAmdSlowest = 2;
constexpr std::uint64_t kAmdEnabled = 1ULL << 63;

constexpr std::uint64_t kEveryByte = 0x0101010101010101;
constexpr std::uint64_t kTurboDisengaged = 1ULL << 32;
constexpr std::uint64_t kRequestBits = 0xffffffff;
constexpr std::uint64_t kBalancedPreference = 0x80;

std::uint64_t byte_of(std::uint64_t value, int lowest_bit) { return value >> lowest_bit & 0xff; }

struct Ratios {
  std::uint64_t lowest, base, highest;
};

Ratios ratios_of(const Machine& machine) {
  const auto ratio = [](int mhz) { return static_cast<std::uint64_t>(mhz / 100); };
  const Frequencies& freq = machine.shape().freq;
  return {ratio(freq.min), ratio(freq.base), ratio(freq.max)};
}

// 200 MHz * id / 8.
std::uint64_t amd_definition(std::uint64_t ratio) { return kAmdEnabled | 8 << 8 | ratio * 4; }

bool is_status(MsrPart part, std::uint32_t number) {
  return number == (part == MsrPart::Amd ? kAmdStatus : kPerfStatus);
}

}  // namespace

Msr::Msr(const Machine& machine) : machine_(machine) { wipe(); }

void Msr::wipe() {
  cpus_.clear();
  const MsrPart part = machine_.shape().freq.msr;
  if (part == MsrPart::None) return;
  const Ratios ratios = ratios_of(machine_);
  if (part == MsrPart::Amd) {
    const Registers fresh = {{kAmdLimit, kAmdSlowest << 4},
                             {kAmdControl, 0},
                             {kAmdDefinition, amd_definition(ratios.base)},
                             {kAmdDefinition + 1, amd_definition((ratios.base + ratios.lowest) / 2)},
                             {kAmdDefinition + 2, amd_definition(ratios.lowest)},
                             {kAmdDefinition + 3, 0}};
    for (const int cpu : machine_.all()) cpus_[cpu] = fresh;
    return;
  }
  Registers fresh = {{kPlatformInfo, ratios.base << 8 | ratios.lowest << 40},
                     {kTurboRatios, ratios.highest * kEveryByte},
                     {kPerfCtl, ratios.base << 8}};
  if (part != MsrPart::Perf) {
    fresh[kPmEnable] = part == MsrPart::Hwp ? 1 : 0;
    fresh[kCapabilities] = ratios.highest | ratios.base << 8 | ratios.lowest << 16 | ratios.lowest << 24;
    fresh[kHwpRequest] = ratios.lowest | ratios.highest << 8 | kBalancedPreference << 24;
  }
  for (const int cpu : machine_.all()) cpus_[cpu] = fresh;
}

bool Msr::has(int cpu, std::uint32_t number) const {
  const auto found = cpus_.find(cpu);
  if (found == cpus_.end()) return false;
  const Registers& registers = found->second;
  const bool needs_hwp_enabled = number == kCapabilities || number == kHwpRequest;
  if (needs_hwp_enabled && (!registers.contains(kPmEnable) || registers.at(kPmEnable) == 0)) return false;
  return is_status(machine_.shape().freq.msr, number) || registers.contains(number);
}

// What the CPU alone would run at under load.
std::uint64_t Msr::request_of(int cpu) const {
  const Registers& registers = cpus_.at(cpu);
  if (!has(cpu, kHwpRequest)) return byte_of(registers.at(kPerfCtl), 8);
  const Ratios ratios = ratios_of(machine_);
  const std::uint64_t request = registers.at(kHwpRequest);
  const std::uint64_t desired = byte_of(request, 16);
  const std::uint64_t highest = std::max(byte_of(request, 0), byte_of(request, 8));
  const std::uint64_t wanted = desired == 0 ? highest : std::clamp(desired, byte_of(request, 0), highest);
  return std::clamp(wanted, ratios.lowest, ratios.highest);
}

std::uint64_t Msr::ratio_of(int cpu) const {
  std::uint64_t highest = 0;
  for (const int thread : machine_.core_cpus(cpu)) highest = std::max(highest, request_of(thread));
  return highest;
}

std::uint64_t Msr::status_of(int cpu, std::uint32_t number) const {
  if (number == kPerfStatus) return ratio_of(cpu) << 8;
  std::uint64_t fastest = kAmdSlowest;
  for (const int thread : machine_.core_cpus(cpu)) fastest = std::min(fastest, cpus_.at(thread).at(kAmdControl));
  return fastest;
}

int Msr::read(int cpu, std::uint32_t number, std::uint64_t& value) const {
  if (!has(cpu, number)) return EIO;
  value = is_status(machine_.shape().freq.msr, number) ? status_of(cpu, number) : cpus_.at(cpu).at(number);
  return 0;
}

void Msr::enable_hwp(int cpu) {
  for (const int other : machine_.socket_cpus(machine_.socket_of(cpu))) cpus_.at(other).at(kPmEnable) = 1;
}

int Msr::write(int cpu, std::uint32_t number, std::uint64_t value) {
  if (!has(cpu, number)) return EIO;
  const Ratios ratios = ratios_of(machine_);
  switch (number) {
    case kPerfCtl:
      cpus_.at(cpu).at(kPerfCtl) =
          std::clamp(byte_of(value, 8), ratios.lowest, ratios.highest) << 8 | (value & kTurboDisengaged);
      return 0;
    case kHwpRequest: cpus_.at(cpu).at(kHwpRequest) = value & kRequestBits; return 0;
    case kPmEnable:
      if ((value & 1) != 0) enable_hwp(cpu);
      return 0;
    case kAmdControl: cpus_.at(cpu).at(kAmdControl) = std::min(value & 7, kAmdSlowest); return 0;
    default: return EIO;
  }
}

Msr::Registers Msr::readable(int cpu) const {
  Registers found;
  for (const std::uint32_t number :
       {kPlatformInfo, kPerfStatus, kPerfCtl, kTurboRatios, kPmEnable, kCapabilities, kHwpRequest, kAmdLimit,
        kAmdControl, kAmdStatus, kAmdDefinition, kAmdDefinition + 1, kAmdDefinition + 2, kAmdDefinition + 3}) {
    std::uint64_t value = 0;
    if (read(cpu, number, value) == 0) found[number] = value;
  }
  return found;
}

}  // namespace nrd::simnode
