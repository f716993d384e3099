#include "cpufreq.h"

#include <algorithm>
#include <cerrno>

namespace nrd::simnode {
namespace {

constexpr const char* kPerformance = "performance";
constexpr const char* kDefaultEpp = "balance_performance";  // what the hardware starts with, 0x80

std::optional<Driver> driver_of(CpufreqDriver driver) {
  using Maker = Driver::Maker;
  switch (driver) {
    case CpufreqDriver::None: break;
    case CpufreqDriver::IntelPstate: return Driver{"intel_pstate", Maker::Intel, true, true};
    case CpufreqDriver::IntelCpufreq: return Driver{"intel_cpufreq", Maker::Intel, false, true};
    case CpufreqDriver::AcpiCpufreq: return Driver{"acpi-cpufreq", Maker::Acpi, false, false};
    case CpufreqDriver::AmdPstate: return Driver{"amd-pstate", Maker::Amd, false, false};
    case CpufreqDriver::AmdPstateEpp: return Driver{"amd-pstate-epp", Maker::Amd, true, true};
  }
  return std::nullopt;
}

// The kernel reads these with kstrtoul and sscanf: one word, and no sign.
std::optional<long> frequency_in(std::string_view text) {
  const auto number = parse_number(trimmed(text));
  return number && *number >= 0 ? number : std::nullopt;
}

std::string first_word(std::string_view text) {
  std::optional<std::string_view> rest = trimmed(text);
  return std::string(cut(rest, ' ').value_or(""));
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Cpufreq::Cpufreq(const Machine& machine) : machine_(machine) { wipe(); }

void Cpufreq::wipe() {
  turbo_ = true;
  max_percent_ = 100;
  min_percent_ = static_cast<int>(lowest() * 100 / highest());
  use(machine_.shape().freq.driver);
}

void Cpufreq::use(CpufreqDriver driver) {
  driver_ = driver_of(driver);
  policies_.clear();
  if (!driver_) return;
  const std::string governor = driver_->active ? "powersave" : "schedutil";
  for (const int cpu : machine_.all()) {
    if (policy_of(cpu) != nullptr) continue;
    policies_[cpu] = {machine_.freq_domain(cpu), lowest(), highest(), governor, kDefaultEpp, lowest()};
  }
}

Policy* Cpufreq::policy(int lowest_cpu) {
  const auto found = policies_.find(lowest_cpu);
  return found == policies_.end() ? nullptr : &found->second;
}

const Policy* Cpufreq::policy_of(int cpu) const {
  for (const auto& [lowest_cpu, policy] : policies_) {
    if (policy.cpus.contains(cpu)) return &policy;
  }
  return nullptr;
}

Cpus Cpufreq::online(const Policy& policy) const {
  Cpus cpus = policy.cpus;
  std::erase_if(cpus, [this](int cpu) { return !machine_.is_online(cpu); });
  return cpus;
}

std::vector<std::string> Cpufreq::governors() const {
  if (driver_->active) return {kPerformance, "powersave"};
  return {"conservative", "ondemand", "userspace", "powersave", kPerformance, "schedutil"};
}

const std::vector<std::string>& Cpufreq::epps() {
  static const std::vector<std::string> names = {"default", kPerformance, kDefaultEpp, "balance_power", "power"};
  return names;
}

long Cpufreq::limited(long frequency) const { return std::clamp(frequency, lowest(), turbo_ ? highest() : base()); }

std::vector<long> Cpufreq::steps() const {
  std::vector<long> steps;
  if (!driver_ || driver_->maker != Driver::Maker::Acpi) return steps;
  if (highest() > base()) steps.push_back(highest());
  for (long step = base(); step > lowest(); step -= machine_.shape().freq.step * 1000L) steps.push_back(step);
  steps.push_back(lowest());
  return steps;
}

long Cpufreq::max(const Policy& policy) const {
  const long max = limited(policy.is_applied() ? policy.max_request : policy.max_before);
  const std::vector<long> steps = this->steps();
  const auto at_most = std::find_if(steps.begin(), steps.end(), [max](long step) { return step <= max; });
  return at_most == steps.end() ? max : *at_most;
}

long Cpufreq::min(const Policy& policy) const {
  const long min = limited(policy.is_applied() ? policy.min_request : policy.min_before);
  const std::vector<long> steps = this->steps();
  const auto at_least = std::find_if(steps.rbegin(), steps.rend(), [min](long step) { return step >= min; });
  return std::min(at_least == steps.rend() ? min : *at_least, max(policy));
}

// Nothing runs here, so governors that follow the load choose the minimum.
long Cpufreq::current(const Policy& policy) const {
  if (policy.governor == kPerformance) return max(policy);
  if (policy.governor == "userspace") return std::clamp(policy.speed, min(policy), max(policy));
  return min(policy);
}

std::string Cpufreq::epp(const Policy& policy) const {
  return driver_->active && policy.governor == kPerformance ? kPerformance : policy.epp;
}

int Cpufreq::request(Policy& policy, long min, long max) {
  const bool refuses = machine_.shape().freq.min_over_max == MinOverMax::Refuse;
  if (refuses && limited(min) > limited(max)) return EINVAL;
  if (policy.is_applied()) {
    policy.min_before = policy.min_request;
    policy.max_before = policy.max_request;
  }
  policy.applied = std::chrono::steady_clock::now() + std::chrono::milliseconds(machine_.shape().freq.applied_after);
  policy.min_request = min;
  policy.max_request = max;
  return 0;
}

int Cpufreq::store_min(Policy& policy, std::string_view text) {
  const auto min = frequency_in(text);
  return min ? request(policy, *min, policy.max_request) : EINVAL;
}

int Cpufreq::store_max(Policy& policy, std::string_view text) {
  const auto max = frequency_in(text);
  return max ? request(policy, policy.min_request, *max) : EINVAL;
}

int Cpufreq::store_governor(Policy& policy, std::string_view text) {
  const std::string governor = first_word(text);
  if (!contains(governors(), governor)) return EINVAL;
  // The governor userspace begins where the CPU is.
  policy.speed = current(policy);
  policy.governor = governor;
  return 0;
}

int Cpufreq::store_epp(Policy& policy, std::string_view text) {
  const std::string epp = first_word(text);
  if (!contains(epps(), epp)) return EINVAL;
  if (driver_->active && policy.governor == kPerformance) return epp == kPerformance ? 0 : EBUSY;
  policy.epp = epp == "default" ? kDefaultEpp : epp;
  return 0;
}

int Cpufreq::store_speed(Policy& policy, std::string_view text) {
  const auto speed = frequency_in(text);
  if (policy.governor != "userspace" || !speed) return EINVAL;
  policy.speed = *speed;
  return 0;
}

int Cpufreq::store_turbo(std::string_view text) {
  const auto turbo = frequency_in(text);
  if (!turbo || *turbo > 1) return EINVAL;
  turbo_ = *turbo == 1;
  return 0;
}

int Cpufreq::store_no_turbo(std::string_view text) {
  const auto no_turbo = frequency_in(text);
  if (!no_turbo) return EINVAL;
  turbo_ = *no_turbo == 0;
  return 0;
}

int Cpufreq::store_min_percent(std::string_view text) {
  const auto percent = frequency_in(text);
  if (!percent) return EINVAL;
  min_percent_ = static_cast<int>(std::clamp(*percent, lowest() * 100 / highest(), long{max_percent_}));
  return 0;
}

int Cpufreq::store_max_percent(std::string_view text) {
  const auto percent = frequency_in(text);
  if (!percent) return EINVAL;
  max_percent_ = static_cast<int>(std::clamp(*percent, long{min_percent_}, 100L));
  return 0;
}

int Cpufreq::store_status(std::string_view text) {
  const std::string status = first_word(text);
  if (status == "off") return EBUSY;  // HWP cannot be disabled
  if (status != "active" && status != "passive") return EINVAL;
  if ((status == "active") != driver_->active) {
    use(status == "active" ? CpufreqDriver::IntelPstate : CpufreqDriver::IntelCpufreq);
  }
  return 0;
}

}  // namespace nrd::simnode
