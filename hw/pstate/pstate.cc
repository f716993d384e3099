#include "hw/pstate/pstate.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/find_in.h"
#include "hw/pstate/cpufreq.h"
#include "hw/pstate/msr.h"

namespace nrd::pstate {
namespace {

using Steady = std::chrono::steady_clock;

// A write to scaling_min_freq or scaling_max_freq returns before the kernel applies it: cpufreq_notifier_min() and
// cpufreq_notifier_max() of drivers/cpufreq/cpufreq.c leave that to a worker. Until it has run, the files show the
// previous limits. One time limit for all CPUs of a change.
constexpr std::chrono::milliseconds kAppliedWithin{250};
constexpr std::chrono::milliseconds kApplyPoll{1};

// "max 3000000 kHz (found 2200000)" for the first value that differs. Skips values that are empty in `wanted`.
std::optional<std::string> difference(const FrequencySetting& found, const FrequencySetting& wanted) {
  const auto mismatch = [](const Write& goal, const std::string& value) {
    return fmt::format("{} (found {})", to_string(goal), value.empty() ? "none" : value);
  };
  if (!wanted.governor.empty() && found.governor != wanted.governor) {
    return mismatch({Knob::Governor, wanted.governor}, found.governor);
  }
  if (!wanted.epp.empty() && found.epp != wanted.epp) return mismatch({Knob::Epp, wanted.epp}, found.epp);
  if (found.min != wanted.min)
    return mismatch({Knob::Min, std::to_string(wanted.min.value)}, std::to_string(found.min.value));
  if (found.max != wanted.max)
    return mismatch({Knob::Max, std::to_string(wanted.max.value)}, std::to_string(found.max.value));
  return std::nullopt;
}

// Rejects settings that are invalid on any hardware, before anything is written.
Result<void> check(const Node& node, const std::map<CpuId, FrequencySetting>& wanted, const CpuSet& online) {
  for (const auto& [cpu, knobs] : wanted) {
    if (knobs.min > knobs.max) {
      return fail(ErrorCode::BadRequest,
                  fmt::format("{}: min {} kHz is above max {} kHz", text_of(cpu), knobs.min.value, knobs.max.value));
    }
    if (!online.contains(cpu)) continue;
    const Cpu* facts = find_in(node.cpus, cpu);
    if (facts == nullptr) {
      return fail(ErrorCode::Unsupported, text_of(cpu) + " has no frequency that can be set");
    }
    TRY(check_for_registers(cpu, facts->way, knobs));
  }
  return {};
}

// nullopt: the interface that the CPU was discovered with does not exist any more.
Result<std::optional<FrequencySetting>> observe_cpu(const std::string& root, CpuId cpu, Interface way,
                                                    const FrequencySetting* known = nullptr) {
  if (way == Interface::Cpufreq) return observe_cpufreq(root, cpu, known);
  if (known) return *known;
  const std::unique_ptr<Registers> registers = TRY(open_registers(root, cpu));
  if (!registers) return std::nullopt;
  return observe_registers(*registers, way).map([](FrequencySetting knobs) { return std::optional(std::move(knobs)); });
}

// The same, where its absence is an error.
Result<FrequencySetting> observe_existing(const std::string& root, CpuId cpu, Interface way) {
  std::optional<FrequencySetting> knobs = TRY(observe_cpu(root, cpu, way));
  if (knobs) return *std::move(knobs);
  return fail(ErrorCode::Hardware, text_of(cpu) + (way == Interface::Cpufreq ? " has no cpufreq driver any more"
                                                                             : " no longer provides register access"));
}

std::optional<KHz> current_of(const std::string& root, CpuId cpu, Interface way) {
  if (way == Interface::Cpufreq) return current_of_cpufreq(root, cpu);
  const Result<std::unique_ptr<Registers>> registers = open_registers(root, cpu);
  if (!registers || !*registers) return std::nullopt;
  return current_of_registers(**registers, way);
}

Result<void> write_cpu(const std::string& root, CpuId cpu, Interface way, const FrequencySetting& now,
                       const FrequencySetting& wanted) {
  if (way != Interface::Cpufreq) {
    const std::unique_ptr<Registers> registers = TRY(open_registers(root, cpu));
    if (!registers) return {};  // gone since it was read; reading back decides whether that is an error
    return write_registers(*registers, way, wanted).map_error([&](Error error) {
      error.message =
          fmt::format("{} did not take {}", text_of(cpu), difference(now, wanted).value_or("what is wanted"));
      return error;
    });
  }
  for (const Write& write : writes_between(now, wanted)) {
    TRY(write_cpufreq(root, cpu, write));
  }
  return {};
}

// True: something was written.
Result<bool> converge_cpu(const std::string& root, CpuId cpu, Interface way, const FrequencySetting& wanted) {
  const FrequencySetting now = TRY(observe_existing(root, cpu, way));
  if (!difference(now, wanted)) return false;
  return write_cpu(root, cpu, way, now, wanted).map([] { return true; });
}

Result<void> read_back(const std::string& root, CpuId cpu, Interface way, const FrequencySetting& wanted,
                       Steady::time_point deadline) {
  for (;;) {
    const FrequencySetting found = TRY(observe_existing(root, cpu, way));
    const std::optional<std::string> not_taken = difference(found, wanted);
    if (!not_taken) return {};
    if (way != Interface::Cpufreq || Steady::now() >= deadline) {
      return fail(ErrorCode::Hardware, fmt::format("{} did not take {}", text_of(cpu), *not_taken));
    }
    std::this_thread::sleep_for(kApplyPoll);
  }
}

}  // namespace

Result<Node> Pstate::discover() {
  const CpuSet online = TRY(read_online(root_));
  Node node;
  std::map<CpuId, Cpu> cpus;
  CpuSet without_driver;
  for (const CpuId cpu : online.members()) {
    Result<std::optional<Cpu>> found = discover_cpufreq(root_, cpu, find_in(node_.cpus, cpu));
    if (!found && is_offline(root_, cpu)) continue;
    if (!found) {
      node.missing.push_back("P-states: " + found.error().message);
      continue;
    }
    if (!*found) {
      without_driver.add(cpu);
      continue;
    }
    cpus.emplace(cpu, **std::move(found));
  }
  node.cpus = std::move(cpus);
  std::erase_if(registers_.of_cpus, [&](const auto& known) { return !without_driver.contains(known.first); });
  if (!without_driver.empty()) discover_without_driver(root_, without_driver, registers_, node);
  // Check once: the capabilities of perf do not change while a kernel runs.
  if (!knows_branches_ && !node.cpus.empty()) {
    cannot_count_branches_ = BranchCounters::missing(node.cpus.begin()->first);
    knows_branches_ = true;
  }
  node.max_percent = max_percent_of_intel_pstate(root_);
  node.cannot_count_branches = cannot_count_branches_;
  node_ = node;
  return node;
}

Result<Observed> Pstate::observe(const CpuSet& cpus, const Observed& last) {
  const std::optional<bool> turbo = turbo_of_cpufreq(root_);
  if (cpus.empty()) return Observed{.cpus = {}, .turbo = turbo};
  const CpuSet online = TRY(read_online(root_));
  TRY(check_driver(online));
  std::map<CpuId, FrequencySetting> observed;
  for (const auto& [cpu, facts] : node_.cpus) {
    if (!cpus.contains(cpu) || !online.contains(cpu)) continue;
    Result<std::optional<FrequencySetting>> knobs = observe_cpu(root_, cpu, facts.way, find_in(last.cpus, cpu));
    if (knobs && *knobs) observed.emplace(cpu, **std::move(knobs));
  }
  return Observed{std::move(observed), turbo};
}

// One CPU tells it: the kernel has one driver at a time.
Result<void> Pstate::check_driver(const CpuSet& online) const {
  for (const auto& [cpu, facts] : node_.cpus) {
    if (facts.way != Interface::Cpufreq || !online.contains(cpu)) continue;
    const std::optional<std::string> driver = driver_of_cpufreq(root_, cpu);
    if (!driver || *driver == facts.driver) return {};
    return fail(ErrorCode::Hardware, fmt::format("cpufreq driver {} has been replaced by {}", facts.driver, *driver));
  }
  return {};
}

std::map<CpuId, KHz> Pstate::current(const CpuSet& cpus) const {
  std::map<CpuId, KHz> current;
  for (const CpuId cpu : cpus.members()) {
    const Cpu* facts = find_in(node_.cpus, cpu);
    if (facts == nullptr) continue;
    if (const auto frequency = current_of(root_, cpu, facts->way)) current.emplace(cpu, *frequency);
  }
  return current;
}

Result<CpuSet> Pstate::converge(const Setting& wanted) {
  if (wanted.cpus.empty() && wanted.put_back.empty()) return CpuSet{};
  const CpuSet online = TRY(read_online(root_));
  TRY(check(node_, wanted.cpus, online));

  // First, so that in a domain the wanted settings win.
  CpuSet left = put_back(wanted.put_back, online);
  TRY(set(wanted.cpus, online));
  for (const auto& [cpu, knobs] : wanted.cpus) {
    if (!online.contains(cpu)) left.add(cpu);
  }
  return left;
}

CpuSet Pstate::put_back(const std::map<CpuId, FrequencySetting>& before, const CpuSet& online) const {
  CpuSet left;
  for (const auto& [cpu, knobs] : before) {
    const Cpu* facts = find_in(node_.cpus, cpu);
    const bool is_there = online.contains(cpu) && facts != nullptr;
    if (is_there && converge_cpu(root_, cpu, facts->way, knobs)) continue;
    left.add(cpu);
  }
  const Steady::time_point deadline = Steady::now() + kAppliedWithin;
  const std::optional<bool> turbo = turbo_of_cpufreq(root_);
  for (const auto& [cpu, knobs] : before) {
    if (left.contains(cpu)) continue;
    const Cpu& facts = node_.cpus.at(cpu);
    const bool is_taken = read_back(root_, cpu, facts.way, shown(knobs, facts, turbo), deadline) ||
                          read_back(root_, cpu, facts.way, knobs, deadline);
    if (!is_taken) left.add(cpu);
  }
  return left;
}

// Reports the first failure.
Result<void> Pstate::set(const std::map<CpuId, FrequencySetting>& wanted, const CpuSet& online) const {
  Result<void> first_failure;
  CpuSet touched;
  for (const auto& [cpu, knobs] : wanted) {
    if (!online.contains(cpu)) continue;
    const Cpu& facts = node_.cpus.at(cpu);
    const Result<bool> written = converge_cpu(root_, cpu, facts.way, knobs);
    if (!written && !is_offline(root_, cpu)) note_failure(first_failure, Failure(written.error()));
    // A write affects all CPUs of the domain, including those that were right before it.
    if (written && *written) touched |= facts.domain;
  }
  const Steady::time_point deadline = Steady::now() + kAppliedWithin;
  for (const auto& [cpu, knobs] : wanted) {
    if (!touched.contains(cpu) || !online.contains(cpu)) continue;
    const Result<void> taken = read_back(root_, cpu, node_.cpus.at(cpu).way, knobs, deadline);
    if (!taken && !is_offline(root_, cpu)) note_failure(first_failure, taken);
  }
  return first_failure;
}

}  // namespace nrd::pstate
