#include "cpufreq_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nrd::simnode {
namespace {

using Maker = Driver::Maker;

// A file of each policy. Files without `store` are read-only.
struct PolicyFile {
  const char* name;
  bool (*exists)(const Driver&);
  std::string (*show)(const Cpufreq&, const Policy&);
  int (Cpufreq::*store)(Policy&, std::string_view);
};

// A file of the driver.
struct DriverFile {
  const char* path;
  bool (*exists)(const Driver&);
  std::string (*show)(const Cpufreq&);
  int (Cpufreq::*store)(std::string_view);
};

constexpr long kStep = 100'000;  // of a ratio

std::string words(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

// The kernel separates CPUs by blanks here, unlike everywhere else.
std::string cpu_words(const Cpus& cpus) {
  std::vector<std::string> names;
  for (const int cpu : cpus) names.push_back(std::to_string(cpu));
  return words(names);
}

std::string available_frequencies(const Cpufreq& cpufreq) {
  std::vector<std::string> names;
  for (const long step : cpufreq.steps()) names.push_back(std::to_string(step));
  return words(names) + " ";
}

std::string speed(const Cpufreq& cpufreq, const Policy& policy) {
  return policy.governor == "userspace" ? std::to_string(cpufreq.current(policy)) : "<unsupported>";
}

long pstates(const Cpufreq& cpufreq) { return (cpufreq.highest() - cpufreq.lowest()) / kStep + 1; }

long turbo_percent(const Cpufreq& cpufreq) {
  return 100 - ((cpufreq.base() - cpufreq.lowest()) / kStep + 1) * 100 / pstates(cpufreq);
}

bool always(const Driver&) { return true; }
bool of_intel(const Driver& driver) { return driver.maker == Maker::Intel; }
bool of_acpi(const Driver& driver) { return driver.maker == Maker::Acpi; }
bool with_epp(const Driver& driver) { return driver.epp; }

std::string digits(long number) { return std::to_string(number); }

using C = Cpufreq;
using P = Policy;

constexpr std::array kPolicyFiles = {
    PolicyFile{"affected_cpus", always, [](const C& c, const P& p) { return cpu_words(c.online(p)); }, nullptr},
    PolicyFile{"base_frequency", of_intel, [](const C& c, const P&) { return digits(c.base()); }, nullptr},
    PolicyFile{"bios_limit", of_acpi, [](const C& c, const P&) { return digits(c.highest()); }, nullptr},
    PolicyFile{"cpuinfo_max_freq", always, [](const C& c, const P&) { return digits(c.highest()); }, nullptr},
    PolicyFile{"cpuinfo_min_freq", always, [](const C& c, const P&) { return digits(c.lowest()); }, nullptr},
    PolicyFile{"energy_performance_available_preferences", with_epp,
               [](const C&, const P&) { return words(C::epps()) + " "; }, nullptr},
    PolicyFile{"energy_performance_preference", with_epp, [](const C& c, const P& p) { return c.epp(p); },
               &C::store_epp},
    PolicyFile{"freqdomain_cpus", of_acpi, [](const C&, const P& p) { return cpu_words(p.cpus); }, nullptr},
    PolicyFile{"related_cpus", always, [](const C&, const P& p) { return cpu_words(p.cpus); }, nullptr},
    PolicyFile{"scaling_available_frequencies", of_acpi, [](const C& c, const P&) { return available_frequencies(c); },
               nullptr},
    PolicyFile{"scaling_available_governors", always,
               [](const C& c, const P&) { return words(c.governors()) + (c.driver()->active ? "" : " "); }, nullptr},
    PolicyFile{"scaling_cur_freq", always, [](const C& c, const P& p) { return digits(c.current(p)); }, nullptr},
    PolicyFile{"scaling_driver", always, [](const C& c, const P&) { return c.driver()->name; }, nullptr},
    PolicyFile{"scaling_governor", always, [](const C&, const P& p) { return p.governor; }, &C::store_governor},
    PolicyFile{"scaling_max_freq", always, [](const C& c, const P& p) { return digits(c.max(p)); }, &C::store_max},
    PolicyFile{"scaling_min_freq", always, [](const C& c, const P& p) { return digits(c.min(p)); }, &C::store_min},
    PolicyFile{"scaling_setspeed", always, speed, &C::store_speed},
};

constexpr std::array kDriverFiles = {
    DriverFile{"cpufreq/boost", of_acpi, [](const C& c) { return digits(c.turbo() ? 1 : 0); }, &C::store_turbo},
    DriverFile{"intel_pstate/max_perf_pct", of_intel, [](const C& c) { return digits(c.max_percent()); },
               &C::store_max_percent},
    DriverFile{"intel_pstate/min_perf_pct", of_intel, [](const C& c) { return digits(c.min_percent()); },
               &C::store_min_percent},
    DriverFile{"intel_pstate/no_turbo", of_intel, [](const C& c) { return digits(c.turbo() ? 0 : 1); },
               &C::store_no_turbo},
    DriverFile{"intel_pstate/num_pstates", of_intel, [](const C& c) { return digits(pstates(c)); }, nullptr},
    DriverFile{"intel_pstate/status", of_intel,
               [](const C& c) { return std::string(c.driver()->active ? "active" : "passive"); }, &C::store_status},
    DriverFile{"intel_pstate/turbo_pct", of_intel, [](const C& c) { return digits(turbo_percent(c)); }, nullptr},
};

// nullptr without a driver, or when the driver has no such file.
const PolicyFile* policy_file(const Cpufreq& cpufreq, const std::string& name) {
  for (const PolicyFile& file : kPolicyFiles) {
    if (file.name == name) return cpufreq.driver() && file.exists(*cpufreq.driver()) ? &file : nullptr;
  }
  return nullptr;
}

const DriverFile* driver_file(const Cpufreq& cpufreq, const std::string& path) {
  for (const DriverFile& file : kDriverFiles) {
    if (file.path == path) return cpufreq.driver() && file.exists(*cpufreq.driver()) ? &file : nullptr;
  }
  return nullptr;
}

template <typename Any>
mode_t mode_of(const Any& file) {
  return S_IFREG | (file.store == nullptr ? 0444 : 0644);
}

std::optional<int> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_number(name.substr(prefix.size()));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

bool CpufreqTree::shows(const Policy& policy) const {
  return cpufreq_.machine().shape().freq.offline == OfflineCpufreq::Busy || !cpufreq_.online(policy).empty();
}

Policy* CpufreqTree::shown_policy(const std::string& folder) {
  const auto number = number_after("cpufreq/policy", folder);
  Policy* policy = number ? cpufreq_.policy(*number) : nullptr;
  return policy != nullptr && shows(*policy) ? policy : nullptr;
}

std::optional<std::string> CpufreqTree::link_of(const std::string& folder) const {
  const auto cpu = number_after("cpu", folder);
  const Policy* policy = cpu ? cpufreq_.policy_of(*cpu) : nullptr;
  const bool stays = cpufreq_.machine().shape().freq.offline == OfflineCpufreq::Busy;
  if (policy == nullptr || (!stays && !cpufreq_.machine().is_online(*cpu))) return std::nullopt;
  return "../cpufreq/policy" + std::to_string(*policy->cpus.begin());
}

std::optional<mode_t> CpufreqTree::mode(const std::string& path) {
  const FilePath place = split_path(path);
  if (path == "cpufreq" || path == "intel_pstate") {
    return list(path).empty() ? std::nullopt : std::optional<mode_t>(S_IFDIR | 0755);
  }
  if (place.file == "cpufreq" && link_of(place.folder)) return S_IFLNK | 0777;
  if (shown_policy(path) != nullptr) return S_IFDIR | 0755;
  if (const DriverFile* file = driver_file(cpufreq_, path)) return mode_of(*file);
  const PolicyFile* file = shown_policy(place.folder) == nullptr ? nullptr : policy_file(cpufreq_, place.file);
  return file == nullptr ? std::nullopt : std::optional(mode_of(*file));
}

std::vector<std::string> CpufreqTree::list(const std::string& folder) {
  std::vector<std::string> names;
  if (folder.empty()) {
    for (const char* name : {"cpufreq", "intel_pstate"}) {
      if (mode(name)) names.emplace_back(name);
    }
    return names;
  }
  if (link_of(folder)) return {"cpufreq"};
  if (shown_policy(folder) != nullptr) {
    for (const PolicyFile& file : kPolicyFiles) {
      if (file.exists(*cpufreq_.driver())) names.emplace_back(file.name);
    }
    return names;
  }
  for (const DriverFile& file : kDriverFiles) {
    const FilePath place = split_path(file.path);
    if (place.folder == folder && driver_file(cpufreq_, file.path)) names.push_back(place.file);
  }
  if (folder != "cpufreq") return names;
  for (const auto& [cpu, policy] : cpufreq_.policies()) {
    if (shows(policy)) names.push_back("policy" + std::to_string(cpu));
  }
  return names;
}

int CpufreqTree::read(const std::string& path, std::string& content) {
  const FilePath place = split_path(path);
  if (const auto target = place.file == "cpufreq" ? link_of(place.folder) : std::nullopt) {
    content = *target;
    return 0;
  }
  if (const DriverFile* file = driver_file(cpufreq_, path)) {
    content = file->show(cpufreq_) + "\n";
    return 0;
  }
  const Policy* policy = shown_policy(place.folder);
  const PolicyFile* file = policy_file(cpufreq_, place.file);
  if (policy == nullptr || file == nullptr) return ENOENT;
  if (cpufreq_.online(*policy).empty()) return EBUSY;
  content = file->show(cpufreq_, *policy) + "\n";
  return 0;
}

int CpufreqTree::write(const std::string& path, std::string_view text, pid_t) {
  if (const DriverFile* file = driver_file(cpufreq_, path)) {
    return file->store == nullptr ? EACCES : (cpufreq_.*file->store)(text);
  }
  const FilePath place = split_path(path);
  Policy* policy = shown_policy(place.folder);
  const PolicyFile* file = policy_file(cpufreq_, place.file);
  if (policy == nullptr || file == nullptr) return ENOENT;
  if (file->store == nullptr) return EACCES;
  return cpufreq_.online(*policy).empty() ? EBUSY : (cpufreq_.*file->store)(*policy, text);
}

}  // namespace nrd::simnode
