// What this room knows and wants, in plain structs: what each CPU's frequency can be set to, and what it is set to.
//
// A CPU is set either through cpufreq (sysfs) or, where no driver holds it, through its registers (MSR); never both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/ids.h"
#include "base/shared_map.h"
#include "base/units.h"

namespace nrd::pstate {

enum class Interface {
  Cpufreq,     // /sys/devices/system/cpu/cpuN/cpufreq
  HwpRequest,  // IA32_HWP_REQUEST: lowest and highest ratio
  PerfCtl,     // IA32_PERF_CTL: one ratio, so lowest and highest are the same
  Amd17h,      // MSRC001_0062 of AMD's families 17h to 19h: one of the P-states that the firmware defined
  Amd1Ah,      // the same of family 1Ah
};

constexpr bool takes_window(Interface way) { return way == Interface::Cpufreq || way == Interface::HwpRequest; }

// What a CPU can be set to.
struct Cpu {
  Interface way = Interface::Cpufreq;
  std::string driver;                  // scaling_driver ("intel_pstate"); "msr" without one
  KHz min;                             // of the hardware
  KHz max;                             // of the hardware, turbo included
  std::optional<KHz> base;             // highest without turbo, where it is known
  std::vector<KHz> steps;              // ascending: all there is; empty: any multiple of the bus clock
  CpuSet domain;                       // CPUs that are set together with this one, offline ones and itself among them
  std::vector<std::string> governors;  // empty: there is none to choose
  std::vector<std::string> epps;       // energy_performance_preference; empty: there is none
  std::optional<bool> hwp;             // of Intel: whether the CPU moves within its window on its own
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

// Branches retired since some moment, and those of them that were predicted wrongly. Both wrap at 2^64.
struct BranchCounts {
  uint64_t branches = 0;
  uint64_t misses = 0;
  friend bool operator==(const BranchCounts&, const BranchCounts&) = default;
};

// What discover() finds. Online CPUs that can be set; the others are not in `cpus`, and `missing` says why.
struct Node {
  SharedMap<CpuId, Cpu> cpus;
  std::optional<bool> turbo;         // whether any CPU may go above its base now; nullopt: not told
  std::vector<std::string> missing;  // one sentence each: "P-states: no cpufreq driver, and no msr module"
  std::optional<std::string> cannot_count_branches;  // why, one sentence; nullopt: it can
  friend bool operator==(const Node&, const Node&) = default;
};

// What one CPU is set to, or must be.
struct FrequencySetting {
  KHz min;
  KHz max;
  std::string governor;  // empty: there is none
  std::string epp;       // empty: there is none
  friend bool operator==(const FrequencySetting&, const FrequencySetting&) = default;
};

// As read from the kernel.
struct Observed {
  std::map<CpuId, FrequencySetting> cpus;
  friend bool operator==(const Observed&, const Observed&) = default;
};

// What some CPUs must be set to. A CPU that is not named is left alone.
struct Setting {
  std::map<CpuId, FrequencySetting> cpus;
  // What nobody asks for any more and what they were set to before. The world may have changed since (turbo is off, a
  // governor is gone), so what cannot be put back is told and is no failure.
  std::map<CpuId, FrequencySetting> put_back;
  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace nrd::pstate
