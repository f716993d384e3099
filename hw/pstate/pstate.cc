#include "hw/pstate/pstate.h"

#include <optional>
#include <utility>

#include "base/file.h"
#include "hw/pstate/cpufreq.h"

namespace nrd::pstate {
namespace {

std::string name_of(CpuId cpu) { return "CPU " + std::to_string(cpu.value); }

Result<CpuSet> read_online(const std::string& root) {
  const std::string path = root + kCpus + "/online";
  const Result<std::optional<std::string>> text = read_file(path);
  if (!text) return Failure(text.error());
  const std::optional<CpuSet> online = *text ? parse_cpus(**text) : std::nullopt;
  if (!online) {
    return fail(ErrorCode::Hardware, "the kernel's list of online CPUs is not as expected",
                path + ": \"" + text->value_or("no such file").substr(0, 80) + "\"");
  }
  return *online;
}

// Asked when something about a CPU failed. The errno does not tell: files of an offline CPU stay and say EBUSY, EINVAL
// or ENODEV, as the kernel's version has it.
bool is_offline(const std::string& root, CpuId cpu) {
  const Result<CpuSet> online = read_online(root);
  return online && !online->contains(cpu);
}

// "max 3000000 kHz (found 2200000)" for the first knob that differs. What `wanted` leaves empty is not compared.
std::optional<std::string> difference(const Knobs& found, const Knobs& wanted) {
  const auto told = [](const Write& goal, const std::string& value) {
    return to_string(goal) + " (found " + (value.empty() ? "none" : value) + ")";
  };
  if (!wanted.governor.empty() && found.governor != wanted.governor) {
    return told({Knob::Governor, wanted.governor}, found.governor);
  }
  if (!wanted.epp.empty() && found.epp != wanted.epp) return told({Knob::Epp, wanted.epp}, found.epp);
  if (found.min != wanted.min)
    return told({Knob::Min, std::to_string(wanted.min.value)}, std::to_string(found.min.value));
  if (found.max != wanted.max)
    return told({Knob::Max, std::to_string(wanted.max.value)}, std::to_string(found.max.value));
  return std::nullopt;
}

// Before anything is written: what cannot be, whatever the hardware says.
Result<void> check(const Node& node, const Setting& wanted, const CpuSet& online) {
  for (const auto& [cpu, knobs] : wanted.cpus) {
    if (knobs.min > knobs.max) {
      return fail(ErrorCode::BadRequest, name_of(cpu) + ": min " + std::to_string(knobs.min.value) +
                                             " kHz is above max " + std::to_string(knobs.max.value) + " kHz");
    }
    if (online.contains(cpu) && !node.cpus.contains(cpu)) {
      return fail(ErrorCode::Unsupported, name_of(cpu) + " has no frequency that can be set");
    }
  }
  return {};
}

// True: something was written.
Result<bool> converge_cpu(const std::string& root, CpuId cpu, const Knobs& wanted) {
  const Result<std::optional<Knobs>> now = observe_cpufreq(root, cpu);
  if (!now) return Failure(now.error());
  if (!*now) return fail(ErrorCode::Hardware, name_of(cpu) + " is not held by a cpufreq driver any more");
  if (!difference(**now, wanted)) return false;
  for (const Write& write : writes_between(**now, wanted)) {
    if (const Result<void> written = write_cpufreq(root, cpu, write); !written) return Failure(written.error());
  }
  return true;
}

Result<void> read_back(const std::string& root, CpuId cpu, const Knobs& wanted) {
  const Result<std::optional<Knobs>> found = observe_cpufreq(root, cpu);
  if (!found) return Failure(found.error());
  if (!*found) return fail(ErrorCode::Hardware, name_of(cpu) + " is not held by a cpufreq driver any more");
  const std::optional<std::string> not_taken = difference(**found, wanted);
  if (not_taken) return fail(ErrorCode::Hardware, name_of(cpu) + " did not take " + *not_taken);
  return {};
}

}  // namespace

Result<Node> Pstate::discover() {
  const Result<CpuSet> online = read_online(root_);
  if (!online) return Failure(online.error());
  Node node;
  CpuSet without_driver;
  for (const CpuId cpu : online->members()) {
    Result<std::optional<Cpu>> found = discover_cpufreq(root_, cpu);
    if (!found && is_offline(root_, cpu)) continue;
    if (!found) return Failure(found.error());
    if (!*found) {
      without_driver.add(cpu);
      continue;
    }
    (*found)->domain &= *online;
    node.cpus.emplace(cpu, **std::move(found));
  }
  if (!without_driver.empty()) {
    node.missing.push_back("P-states: no cpufreq driver holds CPUs " + without_driver.to_string() + "; load a driver");
  }
  node_ = node;
  return node;
}

Result<Observed> Pstate::observe() {
  const Result<CpuSet> online = read_online(root_);
  if (!online) return Failure(online.error());
  Observed observed;
  for (const auto& [cpu, facts] : node_.cpus) {
    if (!online->contains(cpu)) continue;
    Result<std::optional<Knobs>> knobs = observe_cpufreq(root_, cpu);
    if (!knobs && is_offline(root_, cpu)) continue;
    if (!knobs) return Failure(knobs.error());
    if (!*knobs) continue;
    observed.cpus.emplace(cpu, **std::move(knobs));
    if (const std::optional<KHz> current = current_of_cpufreq(root_, cpu)) observed.current.emplace(cpu, *current);
  }
  return observed;
}

Result<void> Pstate::converge(const Setting& wanted) {
  if (wanted.cpus.empty()) return {};
  const Result<CpuSet> online = read_online(root_);
  if (!online) return Failure(online.error());
  if (Result<void> possible = check(node_, wanted, *online); !possible) return possible;

  CpuSet touched;
  for (const auto& [cpu, knobs] : wanted.cpus) {
    if (!online->contains(cpu)) continue;
    const Result<bool> written = converge_cpu(root_, cpu, knobs);
    if (!written && !is_offline(root_, cpu)) return Failure(written.error());
    // A write is for all CPUs of the domain, also for those that were right before it.
    if (written && *written) touched |= node_.cpus.at(cpu).domain;
  }
  for (const auto& [cpu, knobs] : wanted.cpus) {
    if (!touched.contains(cpu) || !online->contains(cpu)) continue;
    Result<void> taken = read_back(root_, cpu, knobs);
    if (!taken && !is_offline(root_, cpu)) return taken;
  }
  return {};
}

}  // namespace nrd::pstate
