#include "hw/pstate/cpufreq.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/number.h"
#include "base/split.h"

namespace nrd::pstate {
namespace {

constexpr size_t kSysfsLimit = 4096;  // a file of sysfs is one page at most
constexpr std::string_view kPerformance = "performance";

template <typename T>
using Parser = std::optional<T> (*)(std::string_view);

std::string path_of(const std::string& root, CpuId cpu, const char* file) {
  return fmt::format("{}{}/cpu{}/cpufreq/{}", root, kCpus, cpu.value, file);
}

struct KnobNames {
  const char* file;
  const char* name;  // before a value
  const char* unit;  // after it
};

KnobNames names_of(Knob knob) {
  switch (knob) {
    case Knob::Governor: return {"scaling_governor", "governor ", ""};
    case Knob::Epp: return {"energy_performance_preference", "EPP ", ""};
    case Knob::Min: return {"scaling_min_freq", "min ", " kHz"};
    case Knob::Max: return {"scaling_max_freq", "max ", " kHz"};
  }
  return {};
}

const char* file_of(Knob knob) { return names_of(knob).file; }

// The cpufreq directory of one CPU.
class Files {
 public:
  Files(const std::string& root, CpuId cpu) : root_(root), cpu_(cpu) {}

  // nullopt: there is no such file.
  template <typename T>
  Result<std::optional<T>> find(const char* file, Parser<T> parse) const {
    return parsed(path_of(root_, cpu_, file), file, parse);
  }

  // The same below the CPU's own directory.
  template <typename T>
  Result<std::optional<T>> find_beside(const char* file, Parser<T> parse) const {
    return parsed(fmt::format("{}{}/cpu{}/{}", root_, kCpus, cpu_.value, file), file, parse);
  }

  // The first of these files that exists.
  template <typename T>
  Result<std::optional<T>> find_first(std::initializer_list<const char*> files, Parser<T> parse) const {
    for (const char* file : files) {
      Result<std::optional<T>> value = find(file, parse);
      if (!value || *value) return value;
    }
    return std::nullopt;
  }

  template <typename T>
  Result<T> read(const char* file, Parser<T> parse) const {
    std::optional<T> value = TRY(find(file, parse));
    if (!value) {
      return fail(ErrorCode::Hardware, fmt::format("{}: cpufreq has no {}", text_of(cpu_), file),
                  path_of(root_, cpu_, file));
    }
    return *std::move(value);
  }

 private:
  template <typename T>
  Result<std::optional<T>> parsed(const std::string& path, const char* file, Parser<T> parse) const {
    const std::optional<std::string> text = TRY(read_file(path, kSysfsLimit));
    if (!text) return std::nullopt;
    std::optional<T> value = parse(*text);
    if (!value) {
      return fail(ErrorCode::Hardware, fmt::format("{}: {} of cpufreq has unexpected content", text_of(cpu_), file),
                  fmt::format("{}: \"{}\"", path, text->substr(0, 80)));
    }
    return value;
  }

  const std::string& root_;
  CpuId cpu_;
};

// acpi-cpufreq has the firmware's table; on Intel turbo is one entry, 1 MHz above the highest without it.
bool ends_with_turbo(const std::vector<KHz>& steps) {
  return steps.size() >= 2 && steps.back().value - steps[steps.size() - 2].value == 1000;
}

// From MHz. Firmware that reports 0, or more than the maximum, does not know.
std::optional<KHz> base_of(const std::optional<KHz>& nominal_mhz, KHz max) {
  if (!nominal_mhz || *nominal_mhz == KHz{0} || nominal_mhz->value > max.value / 1000) return std::nullopt;
  return KHz{nominal_mhz->value * 1000};
}

// The highest frequency without turbo, where a file has it. `known`: as discover_cpufreq() gets it, and the same.
Result<std::optional<KHz>> read_base(const Files& files, KHz max, const Cpu* known) {
  // Of acpi-cpufreq; the firmware's present limit, which is otherwise the highest P-state without boost.
  const auto limit = TRY(files.find("bios_limit", parse_khz));
  if (limit) return limit;
  if (known != nullptr) return known->base;
  // Of intel_pstate with HWP.
  const auto base = TRY(files.find("base_frequency", parse_khz));
  if (base) return base;
  // In MHz, of amd-pstate; without boost (Documentation/admin-guide/acpi/cppc_sysfs.rst).
  return base_of(TRY(files.find_beside("acpi_cppc/nominal_freq", parse_khz)), max);
}

// A driver with a table rounds limits to its entries: a maximum down, a minimum up.
Result<std::vector<KHz>> read_steps(const Files& files) {
  const auto steps = TRY(files.find("scaling_available_frequencies", parse_steps));
  const auto boosts = TRY(files.find("scaling_boost_frequencies", parse_steps));
  std::vector<KHz> all = steps.value_or(std::vector<KHz>{});
  if (!all.empty() && boosts) all.insert(all.end(), boosts->begin(), boosts->end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

std::string to_string(const Write& write) {
  const auto [file, name, unit] = names_of(write.knob);
  return name + write.value + unit;
}

std::vector<Write> writes_between(const FrequencySetting& now, const FrequencySetting& wanted) {
  const bool changes_governor = !wanted.governor.empty() && wanted.governor != now.governor;
  const bool enters_performance = changes_governor && wanted.governor == kPerformance;
  const bool leaves_performance = changes_governor && now.governor == kPerformance;
  // Under performance EPP reads as "performance", and the driver restores the previous value afterwards. So a value
  // read under performance does not predict the next one.
  const bool changes_epp = !wanted.epp.empty() && (wanted.epp != now.epp || leaves_performance);

  std::vector<Write> writes;
  if (changes_epp && enters_performance) writes.push_back({Knob::Epp, wanted.epp});
  if (changes_governor) writes.push_back({Knob::Governor, wanted.governor});
  // If the governor stays performance this may be refused; no other order would help.
  if (changes_epp && !enters_performance) writes.push_back({Knob::Epp, wanted.epp});

  const bool raises_max = wanted.max > now.max;
  if (raises_max) writes.push_back({Knob::Max, std::to_string(wanted.max.value)});
  if (wanted.min != now.min) writes.push_back({Knob::Min, std::to_string(wanted.min.value)});
  if (wanted.max < now.max) writes.push_back({Knob::Max, std::to_string(wanted.max.value)});
  return writes;
}

std::optional<KHz> parse_khz(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  const auto frequency = parse_number<decltype(KHz::value)>(trimmed(text));
  return frequency ? std::optional(KHz{*frequency}) : std::nullopt;
}

std::optional<std::vector<std::string>> parse_words(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  const std::vector<std::string_view> words = split(text, " \t\r\n");
  return std::vector<std::string>(words.begin(), words.end());
}

std::optional<std::string> parse_word(std::string_view text) {
  const std::optional<std::vector<std::string>> words = parse_words(text);
  if (!words || words->size() != 1) return std::nullopt;
  return words->front();
}

std::optional<CpuSet> parse_cpus(std::string_view text) {
  const std::optional<std::vector<std::string>> words = parse_words(text);
  if (!words || words->empty()) return std::nullopt;
  CpuSet cpus;
  for (const std::string& word : *words) {
    const Result<CpuSet> item = CpuSet::parse(word);
    if (!item) return std::nullopt;
    cpus |= *item;
  }
  return cpus;
}

std::optional<std::vector<KHz>> parse_steps(std::string_view text) {
  const std::optional<std::vector<std::string>> words = parse_words(text);
  if (!words) return std::nullopt;
  std::vector<KHz> steps;
  for (const std::string& word : *words) {
    const std::optional<KHz> step = parse_khz(word + "\n");
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

Result<CpuSet> read_online(const std::string& root) {
  const std::string path = root + kCpus + "/online";
  const std::optional<CpuSet> online = TRY(read_cpu_list(path));
  if (online && !online->empty()) return *online;
  return fail(ErrorCode::Hardware, "the kernel has no list of online CPUs", path);
}

bool is_offline(const std::string& root, CpuId cpu) {
  const Result<CpuSet> online = read_online(root);
  return online && !online->contains(cpu);
}

std::optional<bool> turbo_of_cpufreq(const std::string& root) {
  const auto read = [&root](const char* file) {
    return read_file(root + kCpus + file, kSysfsLimit).value_or(std::nullopt);
  };
  // Of intel_pstate in both modes; EAGAIN where it is off, so that another driver serves the CPUs.
  if (const auto no_turbo = read("/intel_pstate/no_turbo")) return trimmed(*no_turbo) == "0";
  // Of other drivers that support boost.
  if (const auto boost = read("/cpufreq/boost")) return trimmed(*boost) == "1";
  return std::nullopt;
}

std::optional<uint32_t> max_percent_of_intel_pstate(const std::string& root) {
  const auto text = read_file(root + kCpus + "/intel_pstate/max_perf_pct", kSysfsLimit).value_or(std::nullopt);
  const auto percent = text ? parse_number<uint32_t>(trimmed(*text)) : std::nullopt;
  return percent && *percent < 100 ? percent : std::nullopt;
}

std::optional<std::string> driver_of_cpufreq(const std::string& root, CpuId cpu) {
  return Files(root, cpu).find("scaling_driver", parse_word).value_or(std::nullopt);
}

Result<std::optional<Cpu>> discover_cpufreq(const std::string& root, CpuId cpu, const Cpu* known) {
  const Files files(root, cpu);
  auto driver = TRY(files.find("scaling_driver", parse_word));
  if (!driver) return std::nullopt;
  const KHz min = TRY(files.read("cpuinfo_min_freq", parse_khz));
  const KHz max = TRY(files.read("cpuinfo_max_freq", parse_khz));
  const bool is_same = known != nullptr && known->driver == *driver && known->min == min && known->max == max;
  const auto base = TRY(read_base(files, max, is_same ? known : nullptr));
  // freqdomain_cpus: CPUs that the hardware coordinates, which may be more than those that share their files.
  const auto domain = TRY(files.find_first({"freqdomain_cpus", "related_cpus"}, parse_cpus));
  const auto governors = TRY(files.find("scaling_available_governors", parse_words));
  const auto epps = TRY(files.find("energy_performance_available_preferences", parse_words));
  std::vector<KHz> steps = TRY(read_steps(files));
  if (max == KHz{0} || min > max) {
    return fail(ErrorCode::Hardware, text_of(cpu) + ": cpufreq reports inconsistent frequencies",
                fmt::format("{}: {} to {}", path_of(root, cpu, "cpuinfo_max_freq"), min.value, max.value));
  }
  Cpu found{.way = Interface::Cpufreq,
            .driver = *std::move(driver),
            .min = min,
            .max = max,
            .base = base,
            .steps = std::move(steps),
            .domain = domain.value_or(CpuSet{}),
            .governors = governors.value_or(std::vector<std::string>{}),
            .epps = epps.value_or(std::vector<std::string>{}),
            .hwp = std::nullopt};
  found.domain.add(cpu);
  if (ends_with_turbo(found.steps)) found.base = found.steps[found.steps.size() - 2];
  // intel_pstate and intel_cpufreq have a preference only with HWP.
  if (found.driver.starts_with("intel_")) found.hwp = !found.epps.empty();
  // Resets to the value of boot: it reads back as that value.
  std::erase(found.epps, "default");
  return found;
}

Result<std::optional<FrequencySetting>> observe_cpufreq(const std::string& root, CpuId cpu,
                                                        const FrequencySetting* known) {
  const Files files(root, cpu);
  const std::optional<KHz> min = TRY(files.find(file_of(Knob::Min), parse_khz));
  if (!min) return std::nullopt;
  const KHz max = TRY(files.read(file_of(Knob::Max), parse_khz));
  const auto governor = TRY(files.find(file_of(Knob::Governor), parse_word));
  FrequencySetting found{.min = *min, .max = max, .governor = governor.value_or(""), .epp = known ? known->epp : ""};
  if (known) return found;
  // Reading fails (EINVAL with amd-pstate) if the firmware chose a value without a name.
  if (const auto epp = files.find(file_of(Knob::Epp), parse_word)) found.epp = epp->value_or("");
  return found;
}

std::optional<KHz> current_of_cpufreq(const std::string& root, CpuId cpu) {
  const auto current = Files(root, cpu).find("scaling_cur_freq", parse_khz);
  if (!current || !*current || **current == KHz{0}) return std::nullopt;
  return **current;
}

Result<void> write_cpufreq(const std::string& root, CpuId cpu, const Write& write) {
  const std::string path = path_of(root, cpu, file_of(write.knob));
  // The directory may be a link (cpufreq -> ../cpufreq/policyN); the file never is.
  const tl::expected<void, int> written = write_value(path, write.value + "\n", O_TRUNC);
  if (written) return {};
  return fail(ErrorCode::Hardware, fmt::format("{} did not take {}", text_of(cpu), to_string(write)),
              errno_text(path, written.error()));
}

}  // namespace nrd::pstate
