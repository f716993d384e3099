#include "hw/cpuset/pinned_services.h"

#include <algorithm>

#include "hw/cpuset/conflicts.h"

namespace nrd::cpuset {
namespace {

constexpr std::chrono::minutes kPause{1};
constexpr std::chrono::seconds kPatience{5};

bool is_target(const PoolUse& use, const std::string& service) {
  return std::ranges::any_of(use.holders, [&service](const auto& entry) {
    return std::ranges::any_of(entry.second.targets,
                               [&service](const Target& target) { return target.name == service; });
  });
}

}  // namespace

std::vector<Conflict> affinity_conflicts(const std::map<std::string, CpuSet>& pinned, const PoolUse& use) {
  std::vector<Conflict> found;
  for (const auto& [service, affinity] : pinned) {
    CpuSet cpus = affinity & use.exclusive;
    if (cpus.empty() || is_target(use, service)) continue;
    if (found.size() == kMostConflicts) break;
    const std::string list = cpus.to_string();
    found.push_back(
        {.source = Conflict::Source::Unit,
         .name = service,
         .cpus = std::move(cpus),
         .text = service + " is configured to run on CPU " + list + " (CPUAffinity=" + affinity.to_string() + ")",
         .remedy = "remove CPU " + list + " from CPUAffinity= of " + service + ", or create a workload for it"});
  }
  return found;
}

const std::map<std::string, CpuSet>& PinnedServices::find() {
  const auto now = std::chrono::steady_clock::now();
  if (!Units::is_booted() || now < next_) return found_;
  next_ = now + kPause;
  if (auto found = units_.pinned_services(now + kPatience)) found_ = *std::move(found);
  return found_;
}

}  // namespace nrd::cpuset
