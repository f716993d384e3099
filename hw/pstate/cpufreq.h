// The online CPUs, and those with a cpufreq driver: /sys/devices/system/cpu/cpuN/cpufreq
// (Documentation/admin-guide/pm/cpufreq.rst). All drivers use the same files; a missing feature is a missing file.
//
// Frequencies are kHz in decimal. The kernel ends every text with a line end, so one without was truncated and is
// refused: half of "2200000" would be another frequency. CPU lists are numbers separated by blanks here ("0 1 2 3"),
// not ranges. Called by the engine thread, through pstate.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/pstate/types.h"

namespace nrd::pstate {

inline constexpr const char* kCpus = "/sys/devices/system/cpu";

enum class Knob { Governor, Epp, Min, Max };

struct Write {
  Knob knob;
  std::string value;
  friend bool operator==(const Write&, const Write&) = default;
};

// "max 3000000 kHz", "governor powersave", "EPP power".
std::string to_string(const Write& write);

// The writes that lead from `now` to `wanted`, in an order that the kernel accepts at each step. A governor or EPP that
// is empty in `wanted` stays as it is.
//
//   800..2000 -> 3000..3500   max 3500, min 3000   the window never closes: min > max is EINVAL on older kernels and
//   3000..3500 -> 800..2000   min 800, max 2000    cut short in silence on newer ones
//   powersave -> performance  EPP, governor        performance holds EPP at 0 and refuses another with EBUSY
//   performance -> powersave  governor, EPP        (intel_pstate, amd-pstate-epp)
std::vector<Write> writes_between(const FrequencySetting& now, const FrequencySetting& wanted);

// Texts of files; nullopt for unexpected content.
std::optional<KHz> parse_khz(std::string_view text);
std::optional<std::string> parse_word(std::string_view text);
std::optional<std::vector<std::string>> parse_words(std::string_view text);
std::optional<CpuSet> parse_cpus(std::string_view text);
std::optional<std::vector<KHz>> parse_steps(std::string_view text);  // "2200000 1500000 ", in the file's order

Result<CpuSet> read_online(const std::string& root);
// Call this when an operation on a CPU failed. The errno is not reliable: files of an offline CPU remain and return
// EBUSY, EINVAL or ENODEV, depending on the kernel version.
bool is_offline(const std::string& root, CpuId cpu);

// True if the driver lets CPUs exceed their base frequency now; nullopt: not reported.
std::optional<bool> turbo_of_cpufreq(const std::string& root);
// The limit for all CPUs, in percent of the highest frequency of each; nullopt: none.
std::optional<uint32_t> max_percent_of_intel_pstate(const std::string& root);
// nullopt: none, or the CPU is offline.
std::optional<std::string> driver_of_cpufreq(const std::string& root, CpuId cpu);
// nullopt: the CPU has no cpufreq driver. `known`: an earlier result for this CPU, or null; the base frequency is taken
// from there unless driver or limits have changed, since the kernel interrupts the CPU to read it.
Result<std::optional<Cpu>> discover_cpufreq(const std::string& root, CpuId cpu, const Cpu* known = nullptr);
// nullopt: the files are gone. `known`: an earlier result, or null; the preference is taken from there, as above.
Result<std::optional<FrequencySetting>> observe_cpufreq(const std::string& root, CpuId cpu,
                                                        const FrequencySetting* known = nullptr);
// nullopt: not available, for example on an idle CPU.
std::optional<KHz> current_of_cpufreq(const std::string& root, CpuId cpu);
Result<void> write_cpufreq(const std::string& root, CpuId cpu, const Write& write);

}  // namespace nrd::pstate
