// The files that hw/pstate reads, as plain files in a temporary folder: they accept any write and read back the same.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "tests/support/temporary_tree.h"

namespace nrd::testing {

class Tree : public TemporaryTree {
 public:
  void online(const std::string& list) { put("sys/devices/system/cpu/online", list + "\n"); }

  // As intel_pstate with HWP shows it: 800 to 3500 MHz, 2200 without turbo, each CPU for itself.
  void intel(uint32_t cpu) {
    put(cpufreq(cpu, "scaling_driver"), "intel_pstate\n");
    put(cpufreq(cpu, "cpuinfo_min_freq"), "800000\n");
    put(cpufreq(cpu, "cpuinfo_max_freq"), "3500000\n");
    put(cpufreq(cpu, "base_frequency"), "2200000\n");
    put(cpufreq(cpu, "related_cpus"), std::to_string(cpu) + "\n");
    put(cpufreq(cpu, "scaling_available_governors"), "performance powersave\n");
    put(cpufreq(cpu, "energy_performance_available_preferences"),
        "default performance balance_performance balance_power power \n");
    put(cpufreq(cpu, "scaling_min_freq"), "800000\n");
    put(cpufreq(cpu, "scaling_max_freq"), "3500000\n");
    put(cpufreq(cpu, "scaling_governor"), "powersave\n");
    put(cpufreq(cpu, "energy_performance_preference"), "balance_performance\n");
    put(cpufreq(cpu, "scaling_cur_freq"), "1200013\n");
  }

  // Registers overlap in a plain file (0x198 and 0x199 are one byte apart), but the bytes that matter do not as long as
  // HWP is off. 4096 bytes of zeros: no turbo, no HWP.
  void registers(uint32_t cpu) { put(msr(cpu), std::string(4096, '\0')); }
  // Eight bits of a register, where these begin.
  void ratio(uint32_t cpu, uint32_t address, uint32_t lowest_bit, uint8_t ratio) {
    std::fstream file(path(msr(cpu)), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(address + lowest_bit / 8);
    file.put(static_cast<char>(ratio));
  }
  // 800 to 2200 MHz without turbo, set to 1500.
  void perf_ctl(uint32_t cpu) {
    registers(cpu);
    ratio(cpu, 0xCE, 8, 22);
    ratio(cpu, 0xCE, 40, 8);
    ratio(cpu, 0x199, 8, 15);
  }
  void part(const std::string& vendor, unsigned family) {
    put("proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + std::to_string(family) + "\nmodel\t\t: 1\n");
  }

  static std::string msr(uint32_t number) { return "dev/cpu/" + std::to_string(number) + "/msr"; }
  static std::string cpu(uint32_t number, const std::string& file = "") {
    return "sys/devices/system/cpu/cpu" + std::to_string(number) + "/" + file;
  }
  static std::string cpufreq(uint32_t number, const std::string& file = "") { return cpu(number, "cpufreq/" + file); }
};

}  // namespace nrd::testing
