#include "hw/cpuset/neighbours.h"

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json/reader.h"
#include "base/split.h"

namespace nrd::cpuset {
namespace {

// The last assignment of `key` in a file of lines KEY=VALUE, without quotes; nullopt: there is none.
std::optional<std::string> value_of(std::string_view text, std::string_view key) {
  std::optional<std::string> value;
  for (const std::string_view line : split(text, "\n")) {
    const size_t equals = line.find('=');
    if (equals == line.npos || trimmed(line.substr(0, equals)) != key) continue;
    std::string_view found = trimmed(line.substr(equals + 1));
    const bool is_quoted =
        found.size() >= 2 && (found.front() == '"' || found.front() == '\'') && found.back() == found.front();
    if (is_quoted) found = trimmed(found.substr(1, found.size() - 2));
    value = found;
  }
  return value;
}

// Of all lists in `entries`, by pod and container, or as older kubelets wrote them by container alone.
CpuSet assigned_cpus(const json::Value& entries) {
  if (const std::string* list = entries.as_string()) return CpuSet::parse(*list).value_or(CpuSet());
  CpuSet cpus;
  for (const json::Member& entry : entries.members()) cpus |= assigned_cpus(entry.value);
  return cpus;
}

}  // namespace

std::optional<Conflict> kubelet_conflict(std::string_view state, const CpuSet& pooled) {
  const Result<json::Value> document = json::parse(state);
  if (!document) return std::nullopt;
  const json::Value* policy = document->find("policyName");
  if (policy == nullptr || policy->as_string() == nullptr || *policy->as_string() != "static") return std::nullopt;
  CpuSet cpus;
  for (const char* key : {"defaultCpuSet", "entries"}) {
    if (const json::Value* found = document->find(key)) cpus |= assigned_cpus(*found);
  }
  cpus &= pooled;
  if (cpus.empty()) return std::nullopt;
  const std::string list = cpus.to_string();
  return Conflict{
      .source = Conflict::Source::Kubelet,
      .name = "kubelet",
      .cpus = std::move(cpus),
      .text = fmt::format("kubelet's static CPU manager gives CPU {} to containers ({})", list, kKubeletState),
      .remedy = fmt::format("add CPU {} to reservedSystemCPUs with the option strict-cpu-reservation of kubelet, or "
                            "remove it from the pools",
                            list)};
}

std::string isolating_profile(std::string_view profiles) {
  std::string isolating;
  for (const std::string_view profile : split(profiles, " \t\n")) {
    if (profile == "nrd") return {};
    const bool isolates = profile.starts_with("cpu-partitioning") || profile.starts_with("realtime");
    if (isolates && is_word(profile, "._-")) isolating = profile;
  }
  return isolating;
}

std::string variables_file_of(const std::string& profile) { return "/etc/tuned/" + profile + "-variables.conf"; }

std::optional<Conflict> tuned_conflict(const std::string& profile, std::string_view variables, const CpuSet& pooled) {
  const std::optional<std::string> isolated = value_of(variables, "isolated_cores");
  const bool spares_cgroups = !value_of(variables, "cgroup_ps_blacklist").value_or("").empty();
  if (!isolated || isolated->empty() || spares_cgroups) return std::nullopt;
  CpuSet cpus = CpuSet::parse(*isolated).value_or(pooled) & pooled;
  if (cpus.empty()) return std::nullopt;
  return Conflict{.source = Conflict::Source::Tuned,
                  .name = "tuned",
                  .cpus = cpus,
                  .text = fmt::format("tuned moves tasks off CPU {}, those of workloads too (isolated_cores in {})",
                                      cpus.to_string(), variables_file_of(profile)),
                  .remedy =
                      "have tuned spare the workloads with the output of nrdctl export tuned, or remove the CPUs from "
                      "isolated_cores"};
}

std::optional<Conflict> irqbalance_conflict(std::string_view defaults, const PoolUse& use) {
  const std::optional<std::string> list = value_of(defaults, "IRQBALANCE_BANNED_CPULIST");
  const CpuSet banned = list ? CpuSet::parse(*list).value_or(CpuSet()) : use.unbalanced;
  CpuSet cpus = use.exclusive - banned;
  if (cpus.empty()) return std::nullopt;
  return Conflict{.source = Conflict::Source::Irqbalance,
                  .name = "irqbalance",
                  .cpus = cpus,
                  .text = fmt::format("irqbalance moves interrupts to CPU {} (not in IRQBALANCE_BANNED_CPULIST of {})",
                                      cpus.to_string(), kIrqbalanceDefaults),
                  .remedy = fmt::format("IRQBALANCE_BANNED_CPULIST={} in {}; systemctl restart irqbalance",
                                        (banned | cpus).to_string(), kIrqbalanceDefaults)};
}

}  // namespace nrd::cpuset
