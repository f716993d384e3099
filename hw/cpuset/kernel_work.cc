#include "hw/cpuset/kernel_work.h"

#include <fmt/core.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "base/directory.h"
#include "base/file.h"
#include "base/joined.h"
#include "base/task.h"
#include "hw/cpuset/affinity.h"
#include "hw/cpuset/noise.h"

namespace nrd::cpuset {
namespace {

using Source = Disturbance::Source;

constexpr size_t kMostInIrq = 4096;
constexpr size_t kMostDevices = 256;
constexpr size_t kMostInText = 16;

// The name with which a driver has requested the interrupt: a folder beside the kernel's own files. Empty: none has, so
// it never arrives.
std::string user_of(const std::string& root, uint32_t interrupt) {
  constexpr std::array<std::string_view, 7> kFiles{"affinity_hint", "effective_affinity", "effective_affinity_list",
                                                   "node",          "smp_affinity",       "smp_affinity_list",
                                                   "spurious"};
  for (const std::string& name : names_in(fmt::format("{}/proc/irq/{}", root, interrupt), kMostInIrq)) {
    if (std::ranges::find(kFiles, name) == kFiles.end()) return name;
  }
  return {};
}

struct Device {
  CpuSet cpus;
  std::vector<std::string> interrupts;
};

Disturbance of_device(const std::string& name, Device device, bool low_noise) {
  const size_t count = device.interrupts.size();
  const std::string list = device.cpus.to_string();
  return {
      .source = Source::Interrupt,
      .name = name,
      .cpus = std::move(device.cpus),
      .text =
          fmt::format("{}{}{} may arrive ({}){}", count, count == 1 ? " interrupt of " : " interrupts of ", name,
                      joined_first(kMostInText, device.interrupts), low_noise ? "; the kernel does not move them" : ""),
      .remedy =
          low_noise
              ? fmt::format("give the driver fewer queues, or add isolcpus=managed_irq,{} to the kernel's command line",
                            list)
              : "low_noise = true in the pool"};
}

Disturbance of_other(const NoiseSource& source, CpuSet cpus, bool low_noise) {
  Source kind = Source::NewInterrupts;
  std::string text = "interrupts that devices request from now on may arrive";
  if (source.kind == NoiseSource::Kind::Workqueues) {
    kind = Source::Workqueues;
    text = "unbound workqueues may run";
  } else if (source.kind == NoiseSource::Kind::Watchdog) {
    kind = Source::Watchdog;
    text = "the watchdog for lockups runs";
  }
  return {.source = kind,
          .cpus = std::move(cpus),
          .text = text,
          .remedy = low_noise ? "other software has moved it here; the next drift check moves it off"
                              : "low_noise = true in the pool"};
}

struct Thread {
  std::string name;
  CpuSet cpus;
};

// nullopt: it is no thread of the kernel, or has ended.
std::optional<Thread> kernel_thread(const std::string& folder) {
  const std::string line = read_one_line(folder + "/stat").value_or(std::nullopt).value_or("");
  std::optional<TaskStat> stat = parse_task_stat(line);
  if (!stat || !stat->is_kernels()) return std::nullopt;
  const std::string status = read_file(folder + "/status").value_or(std::nullopt).value_or("");
  std::optional<CpuSet> cpus = allowed_in_status(status);
  if (!cpus) return std::nullopt;
  return Thread{std::move(stat->name), *std::move(cpus)};
}

// By what is common to their names: "ksoftirqd/4" and "ksoftirqd/5".
struct Threads {
  CpuSet cpus;
  std::map<std::string, size_t> kinds;
  void add(const Thread& thread, const CpuSet& here) {
    cpus |= here;
    ++kinds[thread.name.substr(0, thread.name.find('/'))];
  }
  std::string text() const {
    std::vector<std::string> words;
    for (const auto& [name, count] : kinds) words.push_back(fmt::format("{} {}", count, name));
    return joined_first(kMostInText, words);
  }
};

}  // namespace

std::string device_of(std::string_view interrupt_name) {
  const size_t digits = interrupt_name.find_last_not_of("0123456789") + 1;
  if (digits == interrupt_name.size() || digits == 0) return std::string(interrupt_name);
  size_t end = interrupt_name.find_last_not_of("-_.", digits - 1) + 1;
  if (end == digits && interrupt_name[end - 1] == 'q') --end;  // "nvme0q12"
  return std::string(end == digits || end == 0 ? interrupt_name : interrupt_name.substr(0, end));
}

std::vector<Disturbance> find_interrupts(const CheckQuery& query, const std::string& root) {
  std::map<std::string, Device> devices;
  std::vector<Disturbance> found;
  for (const auto& [source, cpus] : Noise(root).observe()) {
    CpuSet here = cpus & query.cpus;
    if (here.empty()) continue;
    if (source.kind != NoiseSource::Kind::Interrupt) {
      found.push_back(of_other(source, std::move(here), query.low_noise));
      continue;
    }
    const std::string user = user_of(root, source.number);
    if (user.empty()) continue;
    Device& device = devices[devices.size() < kMostDevices ? device_of(user) : "other devices"];
    device.cpus |= here;
    device.interrupts.push_back(std::to_string(source.number));
  }
  for (auto& [name, device] : devices) found.push_back(of_device(name, std::move(device), query.low_noise));
  return found;
}

std::vector<Disturbance> find_kernel_threads(const CheckQuery& query, const std::string& root) {
  Threads bound, unbound;
  for (const pid_t id : numbers_in<pid_t>(root + "/proc", kLargestPid)) {
    const std::optional<Thread> thread = kernel_thread(fmt::format("{}/proc/{}", root, id));
    if (!thread) continue;
    const CpuSet here = thread->cpus & query.cpus;
    if (!here.empty()) (thread->cpus.size() == 1 ? bound : unbound).add(*thread, here);
  }
  std::vector<Disturbance> found;
  if (!bound.cpus.empty()) {
    found.push_back({.source = Source::BoundThreads,
                     .cpus = bound.cpus,
                     .text = "kernel threads bound to these CPUs: " + bound.text(),
                     .remedy = fmt::format("none for most: they run only for work of their own CPU; rcu_nocbs={} on "
                                           "the kernel's command line moves that of RCU",
                                           bound.cpus.to_string())});
  }
  if (!unbound.cpus.empty()) {
    found.push_back({.source = Source::UnboundThreads,
                     .cpus = unbound.cpus,
                     .text = "kernel threads that may run here: " + unbound.text(),
                     .remedy = fmt::format("isolcpus=domain,{} on the kernel's command line, or move them with taskset",
                                           unbound.cpus.to_string())});
  }
  return found;
}

}  // namespace nrd::cpuset
