#include "api/v1/node_metrics.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/control.h"
#include "base/find_in.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"

namespace nrd::v1 {
namespace {

using metrics::Family;

double hertz(KHz frequency) {
  constexpr double kHertz = 1000;
  return frequency.value * kHertz;
}

struct SizeFamilies {
  Family cache{.name = "nrd_cache_size_bytes", .help = "Size of the cache"};
  Family way{.name = "nrd_cache_way_bytes", .help = "Size of a way of the cache"};
  Family pool{.name = "nrd_pool_ways", .help = "Ways of a pool of the cache"};
  Family used{.name = "nrd_pool_ways_used", .help = "Ways of the pool that workloads have"};
  Family free{.name = "nrd_pool_ways_free", .help = "Ways of the pool that no workload or foreign group holds"};
};

void add_pools(SizeFamilies& sizes, const NodeState& state, CacheId cache, const metrics::Labels& labels) {
  const PoolPartition* layout = layout_of(state, cache.level);
  if (!layout) return;
  const WayMask unassigned = unassigned_ways(state, cache);
  const WayMask granted = granted_ways(state, cache);
  for (const NamedPool& pool : kNamedPools) {
    const WayMask ways = (*layout).*pool.ways;
    if (ways.empty()) continue;
    metrics::Labels of_pool = labels;
    of_pool.emplace_back("pool", pool.name);
    sizes.pool.add(ways.count(), of_pool);
    sizes.used.add((ways & granted).count(), of_pool);
    sizes.free.add((ways & unassigned).count(), of_pool);
  }
}

void add_level(SizeFamilies& sizes, const NodeState& state, const rdt::CacheLevel& level) {
  const std::optional<rdt::Cat>& cat = level.cat;
  for (const auto& [cache, cpus] : level.caches) {
    const metrics::Labels labels{{"level", std::to_string(cache.level)}, {"cache", std::to_string(cache.value)}};
    const rdt::Geometry* geometry = find_in(state.facts.rdt.geometry, cache);
    if (geometry && geometry->bytes > 0) {
      const auto bytes = static_cast<double>(geometry->bytes);
      sizes.cache.add(bytes, labels);
      if (cat && cat->ways > 0) sizes.way.add(bytes / cat->ways, labels);
    }
    // An L2 cache has one pool besides that of the OS, as nrd_cache_ways shows, and there are many of them.
    if (cat && state.facts.rdt.is_main(cache)) add_pools(sizes, state, cache, labels);
  }
}

}  // namespace

void add_workload_info(std::vector<Family>& families, const NodeState& state) {
  constexpr size_t kLongestList = 256;  // a longer list of CPUs is cut
  Family info{.name = "nrd_workload_info", .help = "What a workload is; the value is always 1"};
  info.samples.reserve(state.workloads.size());
  for (const auto& [id, workload] : state.workloads) {
    info.add(1, {{"id", id_text(workload)},
                 {"name", printable_ascii(workload.spec.name, kLongestLabel)},
                 {"uuid", printable_ascii(workload.spec.uuid, kLongestList)},
                 {"origin", printable_ascii(workload.origin, kLongestLabel)},
                 {"cpus", printable_ascii(cpus_of(workload).to_string(), kLongestList)},
                 {"pool", to_string(workload.grant.pool)}});
  }
  families.push_back(std::move(info));
}

void add_sizes(std::vector<Family>& families, const NodeState& state) {
  SizeFamilies sizes;
  const rdt::Node& node = state.facts.rdt;
  for (const auto& [number, level] : node.levels) {
    if (number == node.main_level || level.cat) add_level(sizes, state, level);
  }
  families.insert(families.end(), {std::move(sizes.cache), std::move(sizes.way), std::move(sizes.pool),
                                   std::move(sizes.used), std::move(sizes.free)});
}

void add_cpu_pools(std::vector<Family>& families, const NodeState& state) {
  Family cpus{.name = "nrd_cpu_pool_cpus", .help = "CPUs of a CPU pool: free, granted, idle_sibling, offline"};
  CpuSet granted;
  CpuSet idle;
  for (const auto& [id, workload] : state.workloads) {
    granted |= cpus_of(workload);
    idle |= reserved_cpus_of(workload) - cpus_of(workload);
  }
  const CpuSet& online = state.facts.rdt.online;
  for (const CpuPool& pool : state.config->cpu_pools) {
    for (const auto& [name, members] :
         {std::pair{"free", (pool.cpus & online) - granted - idle}, std::pair{"granted", pool.cpus & online & granted},
          std::pair{"idle_sibling", pool.cpus & online & idle}, std::pair{"offline", pool.cpus - online}}) {
      cpus.add(members.size(), {{"pool", pool.name}, {"state", name}});
    }
  }
  families.push_back(std::move(cpus));
}

void add_cpu_conflicts(std::vector<Family>& families, const NodeState& state) {
  Family conflicts{.name = "nrd_cpu_conflicts", .help = "Other software that also decides about CPUs of CPU pools"};
  for (const auto& [source, name] : json::kNames<cpuset::Conflict::Source>) {
    if (state.config->cpu_pools.empty()) break;
    const auto of_source = std::ranges::count(state.cpu_conflicts, source, &cpuset::Conflict::source);
    conflicts.add(of_source, {{"source", name}});
  }
  families.push_back(std::move(conflicts));
}

void add_frequencies(std::vector<Family>& families, const NodeState& state) {
  Family lowest{.name = "nrd_cpu_frequency_min_hertz", .help = "Lowest frequency granted to the CPU's workload"};
  Family highest{.name = "nrd_cpu_frequency_max_hertz", .help = "Highest frequency granted to the CPU's workload"};
  Family now{.name = "nrd_cpu_frequency_hertz", .help = "Frequency of the CPU as last observed"};
  for (const auto& [id, workload] : state.workloads) {
    for (const auto& [cpu, granted] : workload.grant.frequencies) {
      const pstate::FrequencySetting setting = granted_window(state, workload, cpu);
      const metrics::Labels labels{{"cpu", std::to_string(cpu.value)}, {"workload", id_text(workload)}};
      lowest.add(hertz(setting.min), labels);
      highest.add(hertz(setting.max), labels);
      if (const KHz* current = find_in(state.current, cpu)) now.add(hertz(*current), labels);
    }
  }
  families.insert(families.end(), {std::move(lowest), std::move(highest), std::move(now)});
}

}  // namespace nrd::v1
