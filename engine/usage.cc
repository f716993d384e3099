#include "engine/usage.h"

#include <algorithm>

namespace nrd {
namespace {

std::optional<double> rate(std::optional<uint64_t> before, std::optional<uint64_t> now,
                           std::chrono::nanoseconds between) {
  if (!before || !now || *now < *before || between.count() <= 0) return std::nullopt;
  return static_cast<double>(*now - *before) / std::chrono::duration<double>(between).count();
}

const rdt::Usage* find(const UsageSample& sample, ClosId clos, const rdt::MonitoringDomain& domain) {
  const auto group = sample.classes.find(clos);
  if (group == sample.classes.end()) return nullptr;
  const auto found = group->second.find(domain);
  return found == group->second.end() ? nullptr : &found->second.counted;
}

}  // namespace

std::set<CacheId> counted_caches(const NodeState& state, const Workload& workload) {
  std::set<CacheId> caches;
  for (const auto& [cache, ways] : workload.grant.ways) {
    if (cache.level == 3) caches.insert(cache);
  }
  if (!caches.empty() || !workload.grant.has_class()) return caches;
  for (const auto& [cache, cpus] : state.facts.rdt.level_of(3).caches) {
    if (cpus.intersects(cpus_of(workload) | workload.spec.task_cpus)) caches.insert(cache);
  }
  return caches;
}

std::map<ClosId, std::set<CacheId>> counted_classes(const NodeState& state) {
  std::map<ClosId, std::set<CacheId>> classes;
  if (!state.facts.rdt.monitoring) return classes;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    classes[workload.grant.clos].merge(counted_caches(state, workload));
  }
  return classes;
}

bool is_unrequested(const UsageSample& sample, ClosId clos) {
  const auto group = sample.classes.find(clos);
  return group != sample.classes.end() &&
         std::ranges::any_of(group->second, [](const auto& usage) { return usage.second.counted.is_unrequested; });
}

UsageSample next_sample(const UsageSample* last, const rdt::Usages& counted, UsageSample::Steady taken, Time at) {
  UsageSample sample{.taken = taken, .at = at, .since = {}, .classes = {}};
  if (last != nullptr) sample.since = taken - last->taken;
  for (const auto& [clos, domains] : counted) {
    for (const auto& [domain, now] : domains) {
      CacheUsage& usage = sample.classes[clos][domain];
      usage.counted = now;
      const rdt::Usage* before = last == nullptr ? nullptr : find(*last, clos, domain);
      if (before == nullptr) continue;
      usage.total_bytes_per_second = rate(before->total_bytes, now.total_bytes, *sample.since);
      usage.local_bytes_per_second = rate(before->local_bytes, now.local_bytes, *sample.since);
    }
  }
  return sample;
}

}  // namespace nrd
