#include "engine/plan/frequencies.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/find_in.h"
#include "base/joined.h"
#include "engine/model/node_state.h"

namespace nrd::plan {
namespace {

constexpr const char* kPerformance = "performance";
constexpr KHz kMhz{1000};

Failure refuse(const std::string& key, std::string message, std::string allowed = {}) {
  return fail_at(ErrorCode::BadRequest, key.empty() ? "/pstate" : "/pstate/" + key, std::move(message),
                 std::move(allowed));
}

Failure unsupported(const std::string& key, std::string message) {
  return fail_at(ErrorCode::Unsupported, key.empty() ? "/pstate" : "/pstate/" + key, std::move(message));
}

bool is_ratio(const FrequencyRequest& request) { return request.unit == FrequencyRequest::Unit::Ratio; }

// In the client's unit.
std::string text_of(KHz frequency, const FrequencyRequest& request) {
  if (is_ratio(request)) return std::to_string(ratio_of(frequency).value);
  return fmt::format("{} MHz", frequency.value / kMhz.value);
}

std::string key_of(const char* bound, const FrequencyRequest& request) {
  return std::string(bound) + (is_ratio(request) ? "_ratio" : "_mhz");
}

// 64 bits, so that no number from a client overflows. A frequency table does the rounding where there is one.
uint64_t khz_of(uint32_t bound, const FrequencyRequest& request, const pstate::Cpu& cpu) {
  const uint64_t khz = uint64_t{bound} * (is_ratio(request) ? kBusClock.value : kMhz.value);
  return cpu.steps.empty() ? khz - khz % kBusClock.value : khz;
}

// The value that the CPU uses: the table entry at or below, where there is a table.
KHz on_step(const pstate::Cpu& cpu, KHz frequency) {
  if (cpu.steps.empty()) return frequency;
  const auto above = std::ranges::upper_bound(cpu.steps, frequency);
  return above == cpu.steps.begin() ? *above : *std::prev(above);
}

// The lowest valid request: a limit between two ratios rounds up.
KHz rounded_up(KHz frequency) {
  const uint32_t over = frequency.value % kBusClock.value;
  return over == 0 ? frequency : KHz{frequency.value - over + kBusClock.value};
}

// The highest valid request. A table lists turbo 1 MHz above a ratio; the next ratio selects it.
KHz highest_asked(const pstate::Cpu& cpu, KHz limit) {
  return cpu.steps.empty() ? khz_of(ratio_of(limit)) : rounded_up(limit);
}

std::string while_limited(const pstate::Node& node) {
  if (!node.max_percent) return " while turbo is off";
  return fmt::format(" while max_perf_pct of intel_pstate is {}", *node.max_percent);
}

// `bound` of the request ("min", "max") on this CPU.
Result<KHz> checked_bound(const char* bound, uint32_t value, const FrequencyRequest& request, CpuId id,
                          const pstate::Cpu& cpu, const NodeState& state) {
  const KHz limit = reach(state, cpu);
  const uint64_t khz = khz_of(value, request, cpu);
  if (khz >= cpu.min.value && khz <= highest_asked(cpu, limit).value) {
    return on_step(cpu, KHz{static_cast<uint32_t>(khz)});
  }
  return refuse(
      key_of(bound, request),
      fmt::format("{} does not support this frequency{}", text_of(id),
                  limit < cpu.max ? while_limited(state.facts.pstate) : ""),
      fmt::format("{} to {}", text_of(rounded_up(cpu.min), request), text_of(highest_asked(cpu, limit), request)));
}

struct Window {
  KHz min;
  KHz max;
};

// A single bound pins both; without bounds the CPU keeps its previous window. On a CPU that scales by itself, a missing
// bound is the hardware limit.
Result<Window> asked_window(const FrequencyRequest& request, CpuId id, const pstate::Cpu& cpu, Window before,
                            const NodeState& state) {
  if (request.min && request.max && *request.min > *request.max) {
    return refuse(key_of("min", request), "is above the maximum", fmt::format("at most {}", *request.max));
  }
  Window window = request.threshold ? Window{cpu.min, on_step(cpu, cpu.max)} : before;
  for (const auto& [bound, asked] : {std::pair{"min", request.min}, std::pair{"max", request.max}}) {
    if (!asked) continue;
    const KHz checked = TRY(checked_bound(bound, *asked, request, id, cpu, state));
    const bool pins = !request.threshold && !(request.min && request.max);
    if (pins || bound == std::string_view("min")) window.min = checked;
    if (pins || bound == std::string_view("max")) window.max = checked;
  }
  return window;
}

// The highest entry of a table is a P-state in which the CPU boosts, unless turbo has an entry of its own above base:
// on AMD under acpi-cpufreq.
bool boosts_at(const NodeState& state, const pstate::Cpu& cpu, KHz frequency) {
  return state.observed.pstate.turbo == true && !cpu.steps.empty() && cpu.steps.back() <= *cpu.base &&
         frequency >= cpu.steps.back();
}

Failure cannot_keep_from_boosting(const FrequencyRequest& request, CpuId id, const pstate::Cpu& cpu) {
  const std::string lower = cpu.steps.size() > 1 ? fmt::format("a maximum of at most {}, or ",
                                                               text_of(cpu.steps[cpu.steps.size() - 2], request))
                                                 : "";
  return fail_at(
      ErrorCode::Unsupported, "/pstate/turbo",
      fmt::format("false, but {} boosts at its highest P-state ({}), and driver {} turns boost off only for all CPUs",
                  text_of(id), text_of(cpu.steps.back(), request), cpu.driver),
      lower + "0 in /sys/devices/system/cpu/cpufreq/boost");
}

Result<Window> window_of(const FrequencyRequest& request, CpuId id, const pstate::Cpu& cpu, Window before,
                         const NodeState& state) {
  Result<Window> window = asked_window(request, id, cpu, before, state);
  if (!window || request.turbo) return window;
  if (!cpu.base) return unsupported("turbo", text_of(id) + " does not report its base frequency");
  if ((request.min || request.max) && window->min > *cpu.base) {
    return refuse("turbo",
                  fmt::format("false, but {} is above the base frequency of {}",
                              key_of(request.min ? "min" : "max", request), text_of(id)),
                  "at most " + text_of(*cpu.base, request));
  }
  window->max = std::min(window->max, on_step(cpu, *cpu.base));
  window->min = std::min(window->min, window->max);
  if (boosts_at(state, cpu, window->max)) return cannot_keep_from_boosting(request, id, cpu);
  return window;
}

// A value from a list of the kernel.
Result<void> check_choice(const std::string& key, const std::string& wanted, const std::vector<std::string>& offered,
                          CpuId cpu) {
  if (wanted.empty() || std::ranges::find(offered, wanted) != offered.end()) return {};
  if (offered.empty()) return unsupported(key, text_of(cpu) + " does not support this setting");
  return refuse(key, fmt::format("{} does not know \"{}\"", text_of(cpu), wanted), joined(offered, ", "));
}

// The kernel accepts one preference only under the governor "performance".
Result<void> check_preference(const FrequencyRequest& request, CpuId id, const pstate::Cpu& cpu,
                              const pstate::FrequencySetting& before) {
  const std::string& governor = request.governor.empty() ? before.governor : request.governor;
  if (cpu.epps.empty()) return check_choice("epp", request.epp, cpu.epps, id);
  if (request.epp.empty() || request.epp == kPerformance) return {};
  if (governor == kPerformance) {
    return refuse("epp",
                  fmt::format("under the governor \"performance\" of {} no other preference can be set", text_of(id)),
                  "\"performance\", or another governor");
  }
  // Some drivers list no other preference under that governor; reading back decides then.
  const bool is_list_whole = before.governor != kPerformance;
  return is_list_whole ? check_choice("epp", request.epp, cpu.epps, id) : Result<void>();
}

// The request must be valid, but nothing is set.
bool keeps_threshold_only(const FrequencyRequest& request) {
  return request.threshold && request.monitoring == FrequencyRequest::Monitoring::Off;
}

Result<void> check_way(const pstate::Cpu& cpu, CpuId id, const Window& window, bool is_adaptive) {
  if (takes_window(cpu.way) || window.min == window.max || is_adaptive) return {};
  return unsupported(
      "", text_of(id) + " has neither a cpufreq driver nor HWP and supports a single ratio only, not a window");
}

// What monitoring requires besides a window.
Result<void> check_monitoring(const NodeState& state, const FrequencyRequest& request) {
  const auto& missing = state.facts.pstate.cannot_count_branches;
  if (!request.threshold || keeps_threshold_only(request) || !missing) return {};
  return unsupported("ratio", *missing);
}

// CPUs outside the workload that share a frequency domain with it.
Result<void> check_domain(const NodeState& state, const Workload& workload, CpuId id,
                          const pstate::FrequencySetting& wanted) {
  const Spec& spec = workload.spec;
  const CpuSet& domain = state.facts.pstate.cpus.at(id).domain;
  // Siblings that are kept idle need no frequency of their own.
  const CpuSet others = domain - reserved_cpus_of(workload);
  if (others.empty()) return {};
  if (spec.frequency->shared_domain == FrequencyRequest::SharedDomain::Refuse) {
    return refuse(
        "",
        fmt::format("{} shares its frequency with CPU {}, which is not in core_ids", text_of(id), others.to_string()),
        fmt::format("core_ids with all of {}, or \"shared_domain\": \"allow\"", domain.to_string()));
  }
  for (const auto& [other_id, other] : state.workloads) {
    if (other_id == workload.id) continue;
    for (const auto& [cpu, granted] : other.grant.frequencies) {
      // Two adaptive workloads would change each other's CPUs.
      const bool is_adaptive = spec.frequency->threshold || other.spec.frequency->threshold;
      if (!others.contains(cpu) || (granted == wanted && !is_adaptive)) continue;
      return refuse("",
                    fmt::format("{} shares its frequency with {}, for which workload {} requests a different frequency",
                                text_of(id), text_of(cpu), id_text(other)),
                    "the same request as that workload");
    }
  }
  return {};
}

// Of a CPU that has gone offline since: what it was granted for the same request. Null: nothing.
const pstate::FrequencySetting* kept_offline(const NodeState& state, const Workload& workload, CpuId id) {
  const Workload* before = find_in(state.workloads, workload.id);
  const bool is_kept = before && before->spec.frequency == workload.spec.frequency;
  return is_kept && !state.facts.rdt.online.contains(id) ? find_in(before->grant.frequencies, id) : nullptr;
}

// Why the frequency of a CPU cannot be set here, after a colon.
std::string missing_text(const NodeState& state, CpuId id) {
  if (!state.facts.rdt.online.contains(id)) return ": it is offline";
  const auto& missing = state.facts.pstate.missing;
  return missing.empty() ? "" : ": " + missing.front();
}

}  // namespace

Result<std::map<CpuId, pstate::FrequencySetting>> plan_frequencies(const NodeState& state, const Workload& workload) {
  std::map<CpuId, pstate::FrequencySetting> granted;
  const Spec& spec = workload.spec;
  if (!spec.frequency) return granted;
  const FrequencyRequest& request = *spec.frequency;
  TRY(check_monitoring(state, request));
  for (const CpuId id : cpus_of(workload).members()) {
    const pstate::Cpu* found = find_in(state.facts.pstate.cpus, id);
    if (!found) {
      if (keeps_threshold_only(request)) continue;
      const pstate::FrequencySetting* kept = kept_offline(state, workload, id);
      if (!kept)
        return unsupported(
            "", fmt::format("the frequency of {} cannot be set here{}", text_of(id), missing_text(state, id)));
      granted[id] = *kept;
      continue;
    }
    const pstate::Cpu& cpu = *found;
    const pstate::FrequencySetting before =
        original_setting(state, id).value_or(pstate::FrequencySetting{cpu.min, cpu.max, "", ""});
    const Window window = TRY(window_of(request, id, cpu, {before.min, std::min(before.max, cpu.max)}, state));
    const pstate::FrequencySetting knobs{window.min, window.max, request.governor, request.epp};
    TRY(check_way(cpu, id, window, request.threshold.has_value()));
    TRY(check_choice("governor", request.governor, cpu.governors, id));
    TRY(check_preference(request, id, cpu, before));
    if (keeps_threshold_only(request)) continue;
    TRY(check_domain(state, workload, id, knobs));
    granted[id] = knobs;
  }
  return granted;
}

}  // namespace nrd::plan
