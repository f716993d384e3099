#include "hw/pstate/msr_discovery.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/cpuinfo.h"
#include "base/file.h"
#include "hw/pstate/cpufreq.h"
#include "hw/pstate/msr.h"

namespace nrd::pstate {
namespace {

// CPUs without a driver that cannot be set through registers, by reason.
struct Unsettable {
  CpuSet absent;   // no device to open
  CpuSet refused;  // opening the device is forbidden
  CpuSet silent;   // the registers report nothing
};

std::string name_of(const CpuSet& cpus) { return (cpus.size() == 1 ? "CPU " : "CPUs ") + cpus.to_string(); }

std::vector<std::string> explain(const Unsettable& cpus) {
  std::vector<std::string> sentences;
  const auto add = [&sentences](const CpuSet& set, const std::string& why) {
    if (!set.empty())
      sentences.push_back(fmt::format("P-states: no cpufreq driver holds {}, and {}", name_of(set), why));
  };
  const auto device = [](const CpuSet& set) {
    return set.empty() ? "" : fmt::format("/dev/cpu/{}/msr", set.members().front().value);
  };
  add(cpus.absent,
      device(cpus.absent) + " cannot be opened; load a driver, or the msr module and install the drop-in msr.conf");
  add(cpus.refused, device(cpus.refused) + " may not be opened; load a driver, or install the drop-in msr.conf");
  add(cpus.silent, "the registers tell no ratios, as in a virtual machine; load a driver, if the machine has one");
  return sentences;
}

// Such a kernel refuses writes to registers, but not to open and read them.
bool is_locked_down(const std::string& root) {
  const Result<std::optional<std::string>> text = read_file(root + "/sys/kernel/security/lockdown");
  return text && *text && (*text)->find("[none]") == std::string::npos;
}

// The online CPUs of the same core; empty if not reported.
Result<CpuSet> threads_of_core(const std::string& root, CpuId cpu) {
  const std::string path = fmt::format("{}{}/cpu{}/topology/thread_siblings_list", root, kCpus, cpu.value);
  const std::optional<CpuSet> threads = TRY(read_cpu_list(path));
  return threads.value_or(CpuSet());
}

// Null: it cannot be set and was added to `unsettable`, or it has gone offline.
Result<std::optional<Cpu>> discover_one(const std::string& root, RegisterSet set, CpuId cpu,
                                        std::map<CpuId, std::optional<Cpu>>& known, Unsettable& unsettable) {
  const Result<std::unique_ptr<Registers>> registers = open_registers(root, cpu);
  if (!registers || !*registers) {
    (registers ? unsettable.absent : unsettable.refused).add(cpu);
    return std::nullopt;
  }
  if (!known.contains(cpu)) known[cpu] = TRY(discover_registers(**registers, set, cpu));
  std::optional<Cpu> found = known[cpu];
  if (!found) {
    unsettable.silent.add(cpu);
    return std::nullopt;
  }
  const CpuSet threads = TRY(threads_of_core(root, cpu));
  found->domain |= threads;
  return found;
}

// nullopt: `node` has the reason.
std::optional<RegisterSet> registers_of_this_part(const std::string& root, const CpuSet& cpus, Node& node) {
  const Result<std::optional<std::string>> cpuinfo = read_file(root + "/proc/cpuinfo", kCpuinfoLimit);
  const Part part = part_of(cpuinfo ? cpuinfo->value_or("") : "");
  const std::optional<RegisterSet> set = registers_of(part);
  if (!set) {
    node.missing.push_back(
        fmt::format("P-states: no cpufreq driver holds {}, and nrd does not set registers of {}; load a driver",
                    name_of(cpus), to_string(part)));
  }
  return set;
}

}  // namespace

void discover_without_driver(const std::string& root, const CpuSet& cpus, KnownRegisters& known, Node& node) {
  const std::optional<RegisterSet> set = registers_of_this_part(root, cpus, node);
  if (!set) return;
  if (is_locked_down(root)) {
    return node.missing.push_back(fmt::format(
        "P-states: no cpufreq driver holds {}, and the kernel is locked down (/sys/kernel/security/lockdown), so that "
        "registers cannot be written; load a driver",
        name_of(cpus)));
  }
  Unsettable unsettable;
  std::map<CpuId, Cpu>& settable = node.cpus.edit();
  for (const CpuId cpu : cpus.members()) {
    Result<std::optional<Cpu>> found = discover_one(root, *set, cpu, known.of_cpus, unsettable);
    if (!found && is_offline(root, cpu)) continue;
    if (!found) node.missing.push_back("P-states: " + found.error().message);
    if (!found || !*found) continue;
    for (const CpuId thread : (*found)->domain.members()) known.threads[thread] |= (*found)->domain;
    settable.emplace(cpu, **std::move(found));
  }
  for (const CpuId cpu : cpus.members()) {
    const auto found = settable.find(cpu);
    if (found != settable.end()) found->second.domain |= known.threads[cpu];
  }
  for (std::string& sentence : explain(unsettable)) node.missing.push_back(std::move(sentence));
}

}  // namespace nrd::pstate
