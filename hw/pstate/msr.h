// CPUs without a cpufreq driver, through their registers: /dev/cpu/N/msr of the msr module, where the offset is the
// register number and each register is 8 bytes (msr(4)). Intel registers here, AMD's in amd.h. Numbers and fields are
// from the SDM: vol. 4, chapter 2; HWP from vol. 3, "Power and Thermal Management".
//
// With HWP the CPU chooses between two ratios of IA32_HWP_REQUEST, otherwise it runs at the one of IA32_PERF_CTL.
// Ratios are 8 bits and multiples of kBusClock, so a frequency is a multiple of 100000 kHz and reads back as written
// (hybrid client CPUs use other HWP steps and are not supported):
//
//   IA32_HWP_REQUEST 0x80'00'23'08   EPP 0x80, no desired ratio, max 0x23 (3.5 GHz), min 0x08 (800 MHz)
//   IA32_PERF_CTL        0x1600      ratio 0x16 (2.2 GHz)
//
// The registers also store values that the CPU does not support (a ratio of 255), so planners must respect Cpu::min and
// max. Called by the engine thread, through pstate.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/cpuinfo.h"
#include "base/result.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

inline constexpr uint32_t kPlatformInfo = 0xCE;      // MSR_PLATFORM_INFO
inline constexpr uint32_t kPerfStatus = 0x198;       // IA32_PERF_STATUS
inline constexpr uint32_t kPerfCtl = 0x199;          // IA32_PERF_CTL
inline constexpr uint32_t kTurboRatioLimit = 0x1AD;  // MSR_TURBO_RATIO_LIMIT
inline constexpr uint32_t kPmEnable = 0x770;         // IA32_PM_ENABLE
inline constexpr uint32_t kHwpCapabilities = 0x771;  // IA32_HWP_CAPABILITIES
inline constexpr uint32_t kHwpRequest = 0x774;       // IA32_HWP_REQUEST

// CPU models whose registers nrd supports.
enum class RegisterSet { Intel, Amd17h, Amd1Ah };
std::optional<RegisterSet> registers_of(const Part& part);

// The registers of one CPU.
class Registers {
 public:
  Registers() = default;
  virtual ~Registers() = default;
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;

  // nullopt: the CPU has no such register.
  virtual Result<std::optional<uint64_t>> read(uint32_t address) = 0;
  virtual Result<void> write(uint32_t address, uint64_t word) = 0;
};

// Null: the device does not exist, because the msr module is not loaded or the CPU is offline.
Result<std::unique_ptr<Registers>> open_registers(const std::string& root, CpuId cpu);

// Register values. A request preserves all bits except its ratios.
Ratio ratio_at(uint64_t word, unsigned lowest_bit);
uint64_t hwp_request(uint64_t word, Ratio min, Ratio max);
uint64_t perf_ctl(uint64_t word, Ratio ratio);

// nullopt: the registers report no frequencies, as in a virtual machine.
Result<std::optional<Cpu>> discover_registers(Registers& registers, RegisterSet set, CpuId cpu);
Result<FrequencySetting> observe_registers(Registers& registers, Interface way);
// nullopt: not available.
std::optional<KHz> current_of_registers(Registers& registers, Interface way);
Result<void> write_registers(Registers& registers, Interface way, const FrequencySetting& wanted);

}  // namespace nrd::pstate
