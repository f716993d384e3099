#include "noise_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace nrd::simnode {
namespace {

struct Interrupt {
  int number;
  const char* action;
  int first, last;  // CPUs; those that the machine has
  bool managed;     // by the kernel, which spreads the queues itself
};

constexpr std::array kInterrupts{Interrupt{24, "eth0-rx-0", 0, 8191, false}, Interrupt{25, "eth0-rx-1", 2, 3, false},
                                 Interrupt{26, "eth0-tx-0", 0, 0, false}, Interrupt{30, "nvme0q1", 2, 2, true},
                                 Interrupt{31, "nvme0q2", 3, 3, true}};
constexpr std::string_view kIrq = "proc/irq";
const std::string kDefault = "proc/irq/default_smp_affinity";
const std::string kWorkqueues = "sys/devices/virtual/workqueue/cpumask";
const std::string kWatchdog = "proc/sys/kernel/watchdog_cpumask";

std::string folder_of(const Interrupt& interrupt) { return std::string(kIrq) + "/" + std::to_string(interrupt.number); }
std::string affinity_of(const Interrupt& interrupt) { return folder_of(interrupt) + "/smp_affinity_list"; }

bool has_mask(const std::string& path) { return path == kDefault || path == kWorkqueues; }

bool is_managed(const std::string& path) {
  return std::ranges::any_of(kInterrupts,
                             [&path](const Interrupt& each) { return each.managed && affinity_of(each) == path; });
}

bool is_folder(const std::string& path) {
  const auto is_above = [&path](const std::string& file) { return !path.empty() && file.starts_with(path + "/"); };
  if (path == "proc") return false;  // others have files there too
  return is_above(kDefault) || is_above(kWorkqueues) || is_above(kWatchdog) ||
         std::ranges::any_of(kInterrupts, [&](const Interrupt& each) {
           return path == folder_of(each) || path == folder_of(each) + "/" + each.action;
         });
}

}  // namespace

void NoiseTree::wipe() {
  files_ = {{kDefault, machine_.all()}, {kWorkqueues, machine_.all()}, {kWatchdog, machine_.all()}};
  const int last = machine_.shape().cpus - 1;
  for (const Interrupt& interrupt : kInterrupts) {
    Cpus& cpus = files_[affinity_of(interrupt)];
    for (int cpu = std::min(interrupt.first, last); cpu <= std::min(interrupt.last, last); ++cpu) cpus.insert(cpu);
  }
}

std::optional<mode_t> NoiseTree::mode(const std::string& path) {
  if (files_.contains(path)) return S_IFREG | 0644;
  return is_folder(path) ? std::optional<mode_t>(S_IFDIR | 0755) : std::nullopt;
}

std::vector<std::string> NoiseTree::list(const std::string& folder) {
  std::vector<std::string> names;
  if (folder == kIrq) {
    names.emplace_back("default_smp_affinity");
    for (const Interrupt& interrupt : kInterrupts) names.push_back(std::to_string(interrupt.number));
  }
  for (const Interrupt& interrupt : kInterrupts) {
    if (folder == folder_of(interrupt)) names = {interrupt.action, "smp_affinity_list"};
  }
  return names;
}

int NoiseTree::read(const std::string& path, std::string& content) {
  const auto found = files_.find(path);
  if (found == files_.end()) return EISDIR;
  content = (has_mask(path) ? mask_of(found->second, machine_.shape().cpus) : list_of(found->second)) + "\n";
  return 0;
}

int NoiseTree::write(const std::string& path, std::string_view text, pid_t) {
  const auto found = files_.find(path);
  if (found == files_.end()) return EISDIR;
  if (is_managed(path)) return EIO;
  Cpus cpus;
  const auto parse = has_mask(path) ? parse_mask : parse_list;
  if (const int error = parse(trimmed(text), machine_.shape().cpus, cpus); error != 0) return error;
  if (std::ranges::none_of(cpus, [this](int cpu) { return machine_.is_online(cpu); })) return EINVAL;
  found->second = cpus;
  return 0;
}

}  // namespace nrd::simnode
