#include "power_tree.h"

#include <sys/stat.h>

#include <cerrno>
#include <limits>

namespace nrd::simnode {
namespace {

constexpr std::string_view kFile = "pm_qos_resume_latency_us";

// "cpu3/power" and "pm_qos_resume_latency_us" of the CPU 3; nothing for a path elsewhere.
struct PowerPlace {
  int cpu;
  std::string_view below;
};

std::optional<PowerPlace> power_place(std::string_view path) {
  constexpr std::string_view kCpu = "cpu";
  constexpr std::string_view kPower = "/power";
  if (!path.starts_with(kCpu)) return std::nullopt;
  const size_t slash = std::min(path.find('/'), path.size());
  const auto cpu = parse_number(path.substr(kCpu.size(), slash - kCpu.size()));
  std::string_view rest = path.substr(slash);
  if (!cpu || !rest.starts_with(kPower)) return std::nullopt;
  rest.remove_prefix(kPower.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  return PowerPlace{static_cast<int>(*cpu), rest.empty() ? rest : rest.substr(1)};
}

}  // namespace

std::optional<mode_t> PowerTree::mode(const std::string& path) {
  const auto place = power_place(path);
  if (!place || !machine_.shape().power || place->cpu < 0 || place->cpu >= machine_.shape().cpus) return std::nullopt;
  if (place->below.empty()) return S_IFDIR | 0755;
  return place->below == kFile ? std::optional<mode_t>(S_IFREG | 0644) : std::nullopt;
}

std::vector<std::string> PowerTree::list(const std::string& folder) {
  if (mode(folder)) return {std::string(kFile)};
  const bool is_cpu = folder.find('/') == std::string::npos && mode(folder + "/power");
  return is_cpu ? std::vector<std::string>{"power"} : std::vector<std::string>();
}

int PowerTree::read(const std::string& path, std::string& content) {
  const auto found = limits_.find(power_place(path)->cpu);
  content = (found == limits_.end() ? "0" : found->second) + "\n";
  return 0;
}

// pm_qos_resume_latency_us_store() of drivers/base/power/sysfs.c.
int PowerTree::write(const std::string& path, std::string_view text, pid_t) {
  const std::string_view value = trimmed(text);
  const auto number = parse_number(value);
  const bool is_valid =
      value == "n/a" || (number && *number >= 0 && *number < std::numeric_limits<std::int32_t>::max());
  if (!is_valid) return EINVAL;
  limits_[power_place(path)->cpu] = std::string(value);
  return 0;
}

}  // namespace nrd::simnode
