// Plain structs of the P-state module: the limits of each CPU's frequency, and its setting.
//
// A CPU is set either through cpufreq (sysfs) or, without a driver, through its registers (MSR); never both.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/shared.h"
#include "base/units.h"

namespace nrd::pstate {

enum class Interface {
  Cpufreq,     // /sys/devices/system/cpu/cpuN/cpufreq
  HwpRequest,  // IA32_HWP_REQUEST: lowest and highest ratio
  PerfCtl,     // IA32_PERF_CTL: one ratio, so lowest and highest are the same
  Amd17h,      // MSRC001_0062 of AMD's families 17h to 19h: one of the P-states defined by the firmware
  Amd1Ah,      // the same of family 1Ah
};

constexpr bool is_amd(Interface way) { return way == Interface::Amd17h || way == Interface::Amd1Ah; }
constexpr bool takes_window(Interface way) { return way == Interface::Cpufreq || way == Interface::HwpRequest; }

// The frequency capabilities of a CPU.
struct Cpu {
  Interface way = Interface::Cpufreq;
  std::string driver;                  // scaling_driver ("intel_pstate"); "msr" without one
  KHz min;                             // of the hardware
  KHz max;                             // of the hardware, turbo included
  std::optional<KHz> base;             // highest without turbo, where it is known
  std::vector<KHz> steps;              // ascending, all supported frequencies; empty: any multiple of the bus clock
  CpuSet domain;                       // CPUs that are set together with this one, including offline ones and itself
  std::vector<std::string> governors;  // empty: no choice
  std::vector<std::string> epps;       // energy_performance_preference; empty: not supported
  std::optional<bool> hwp;             // Intel only: whether the CPU scales within its window by itself
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

// Retired branches since some moment, and the mispredicted ones among them. Both wrap at 2^64.
struct BranchCounts {
  uint64_t branches = 0;
  uint64_t misses = 0;
  friend bool operator==(const BranchCounts&, const BranchCounts&) = default;
};

// The result of discover(). Online CPUs that can be set; the others are not in `cpus`, and `missing` has the reasons.
struct Node {
  SharedMap<CpuId, Cpu> cpus;
  std::optional<uint32_t> max_percent;  // of `max` of each CPU, a limit for all of them; nullopt: none
  std::vector<std::string> missing;     // one sentence each: "P-states: no cpufreq driver, and no msr module"
  std::optional<std::string> cannot_count_branches;  // why, one sentence; nullopt: supported
  friend bool operator==(const Node&, const Node&) = default;
};

// The setting of one CPU, present or wanted.
struct FrequencySetting {
  KHz min;
  KHz max;
  std::string governor;  // empty: none
  std::string epp;       // empty: none
  friend bool operator==(const FrequencySetting&, const FrequencySetting&) = default;
};

// The kernel's own maximum for a new policy of cpufreq: FREQ_QOS_MAX_DEFAULT_VALUE.
inline constexpr KHz kNoLimit{std::numeric_limits<int32_t>::max()};

// The highest frequency of `cpu` with `turbo` as observed.
KHz highest_of(const Cpu& cpu, std::optional<bool> turbo);
// Values that were written, as the kernel shows them meanwhile: while turbo is off it hides a maximum above base.
FrequencySetting shown(FrequencySetting written, const Cpu& cpu, std::optional<bool> turbo);
// Values to restore: a maximum that is shown as base while turbo is off counts as none, since turbo may return first.
FrequencySetting without_hidden_maximum(FrequencySetting found, const Cpu& cpu, std::optional<bool> turbo);

// The frequencies that the registers of `way` can hold, whether the CPU supports them or not. Cpufreq: any.
Result<void> check_for_registers(CpuId cpu, Interface way, const FrequencySetting& wanted);

// The settings read from the kernel.
struct Observed {
  SharedMap<CpuId, FrequencySetting> cpus;
  std::optional<bool> turbo;  // whether any CPU may exceed its base now; nullopt: not reported
  friend bool operator==(const Observed&, const Observed&) = default;
};

// Wanted settings of some CPUs. CPUs not named here stay untouched.
struct Setting {
  std::map<CpuId, FrequencySetting> cpus;
  // Previous settings of released CPUs. Conditions may have changed since (turbo off, a governor missing), so a CPU
  // that cannot be restored is reported and is no failure.
  std::map<CpuId, FrequencySetting> put_back;
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::pstate
