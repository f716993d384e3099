#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/metrics/exposition.h"
#include "api/routing/request_counters.h"
#include "api/v1/handlers.h"
#include "api/v1/launch.h"
#include "api/v1/monitoring.h"
#include "api/v1/node_metrics.h"
#include "api/v1/process_metrics.h"
#include "api/v1/response_cache.h"
#include "api/v1/workload_json.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

using metrics::Family;
using metrics::Kind;
using metrics::one;
using Families = std::vector<Family>;

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void add_service(Families& families, const NodeState& state, const routing::ServiceInfo& service) {
  families.push_back({.name = "nrd_build_info",
                      .help = "Version of nrd; the value is always 1",
                      .samples = {{.value = 1, .labels = {{"version", service.version}}}}});
  families.push_back(one(Kind::Gauge, "nrd_uptime_seconds", "Time since the daemon started",
                         seconds(std::chrono::steady_clock::now() - service.counters->start())));
  families.push_back(one(Kind::Gauge, "nrd_ok", "1 while GET /v1/health reports ok", is_ok(state)));
  families.push_back(one(Kind::Gauge, "nrd_hardware_ok", "1 while GET /v1/health reports no hardware_problem",
                         problem_of(state).empty()));
  families.push_back(
      one(Kind::Gauge, "nrd_writes_frozen", "1 while the outcome of a commit is unknown", state.health.writes_frozen));
  families.push_back(one(Kind::Counter, "nrd_drift_repairs_total", "Hardware settings restored after external changes",
                         state.health.drift_repairs));
  families.push_back(one(Kind::Counter, "nrd_commits_failed_total", "Commits that failed or whose outcome was unknown",
                         state.health.failed_commits));
  families.push_back(one(Kind::Gauge, "nrd_declared_problems", "Declared workloads and files that are not applied",
                         static_cast<uint64_t>(service.declared_problems()->size())));
  const int64_t expiry = service.certificate_expiry ? service.certificate_expiry->load() : 0;
  families.push_back(one(Kind::Gauge, "nrd_tls_certificate_expiry_timestamp_seconds",
                         "Earliest end of the validity of a certificate of [tls] in seconds since the epoch",
                         expiry != 0 ? std::optional(expiry) : std::nullopt));
  const auto shared = std::ranges::count_if(
      state.workloads, [&state](const auto& entry) { return !sharing_groups(state, entry.second).empty(); });
  families.push_back(one(Kind::Gauge, "nrd_workloads_with_shared_ways",
                         "Workloads whose ways foreign resctrl groups may fill", static_cast<uint64_t>(shared)));
}

void add_requests(Families& families, const routing::RequestCounters& counters) {
  Family requests{
      .name = "nrd_http_requests_total", .help = "HTTP responses by route and status code", .kind = Kind::Counter};
  for (const routing::RequestCounters::Count& count : counters.counts()) {
    requests.add(count.answers, {{"method", count.method}, {"route", count.route}, {"code", count.status}});
  }
  families.push_back(std::move(requests));
}

Family histogram(const char* name, const char* help, const Histogram& measured) {
  Family family{.name = name, .help = help, .kind = Kind::Histogram};
  uint64_t up_to = 0;
  for (size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    up_to += measured.buckets()[i];
    family.distribution.buckets.emplace_back(seconds(Histogram::kBounds[i]), up_to);
  }
  family.distribution.count = measured.count();
  family.distribution.sum = seconds(measured.sum());
  return family;
}

void add_latencies(Families& families, const LatencyHistograms& latencies) {
  families.push_back(histogram("nrd_converge_seconds", "Time to apply a setting to the hardware", latencies.converge));
  families.push_back(histogram("nrd_commit_seconds", "Time to commit a change to the store", latencies.commit));
}

void add_workloads(Families& families, const NodeState& state) {
  Family workloads{.name = "nrd_workloads", .help = "Workloads by pool of their cache ways"};
  for (const Pool pool : {Pool::None, Pool::Guarantee, Pool::BestEffort, Pool::Shared}) {
    const auto count =
        std::ranges::count_if(state.workloads, [pool](const auto& entry) { return entry.second.grant.pool == pool; });
    workloads.add(count, {{"pool", to_string(pool)}});
  }
  families.push_back(std::move(workloads));
  const auto failed =
      std::ranges::count_if(state.workloads, [&state](const auto& entry) { return !is_applied(state, entry.second); });
  families.push_back(
      one(Kind::Gauge, "nrd_workloads_failed", "Workloads whose grant is not applied to the hardware", failed));
}

void add_ways(Families& families, const NodeState& state) {
  Family all{.name = "nrd_cache_ways", .help = "Ways of the cache"};
  Family free{.name = "nrd_cache_ways_free", .help = "Ways that are not granted and not used by foreign groups"};
  Family used{.name = "nrd_cache_ways_used", .help = "Ways granted to workloads"};
  Family idle{.name = "nrd_cache_ways_idle", .help = "Ways that no workload, foreign group, OS or infra class fills"};
  for (const auto& [number, level] : state.facts.rdt.levels) {
    if (!level.cat) continue;
    for (const auto& [cache, cpus] : level.caches) {
      const metrics::Labels labels{{"level", std::to_string(number)}, {"cache", std::to_string(cache.value)}};
      all.add(level.cat->ways, labels);
      free.add(free_ways(state, cache).count(), labels);
      used.add(granted_ways(state, cache).count(), labels);
      idle.add(idle_ways(state, cache).count(), labels);
    }
  }
  families.insert(families.end(), {std::move(all), std::move(free), std::move(used), std::move(idle)});
}

// The owner of each class; null if several workloads share it.
std::map<ClosId, const Workload*> owners_of_classes(const NodeState& state) {
  std::map<ClosId, const Workload*> owners;
  for (const auto& [id, workload] : state.workloads) {
    if (!workload.grant.has_class()) continue;
    const auto [found, is_first] = owners.emplace(workload.grant.clos, &workload);
    if (!is_first) found->second = nullptr;
  }
  return owners;
}

// Usage of classes per cache, or per NUMA node of a cache where the kernel counts these separately.
struct UsageFamilies {
  Family occupancy;
  Family total;
  Family local;
  Family rate;
};

UsageFamilies families_of_caches() {
  return {.occupancy = {.name = "nrd_class_cache_bytes", .help = "L3 cache occupancy of a class"},
          .total = {.name = "nrd_class_memory_bytes_total", .help = "Memory traffic of a class", .kind = Kind::Counter},
          .local = {.name = "nrd_class_local_memory_bytes_total",
                    .help = "Memory traffic of a class with the local socket",
                    .kind = Kind::Counter},
          .rate = {.name = "nrd_class_memory_bytes_per_second",
                   .help = "Memory bandwidth of a class between the last two samples"}};
}

UsageFamilies families_of_numa_nodes() {
  return {.occupancy = {.name = "nrd_class_numa_cache_bytes",
                        .help = "nrd_class_cache_bytes by NUMA node, where counted separately"},
          .total = {.name = "nrd_class_numa_memory_bytes_total",
                    .help = "nrd_class_memory_bytes_total by NUMA node, where counted separately",
                    .kind = Kind::Counter},
          .local = {.name = "nrd_class_numa_local_memory_bytes_total",
                    .help = "nrd_class_local_memory_bytes_total by NUMA node, where counted separately",
                    .kind = Kind::Counter},
          .rate = {.name = "nrd_class_numa_memory_bytes_per_second",
                   .help = "nrd_class_memory_bytes_per_second by NUMA node, where counted separately"}};
}

void add(UsageFamilies& families, const CacheUsage& usage, const metrics::Labels& labels) {
  const auto add_known = [&labels](Family& family, const auto& value) {
    if (value) family.add(*value, labels);
  };
  add_known(families.occupancy, usage.counted.occupancy_bytes);
  add_known(families.total, usage.counted.total_bytes);
  add_known(families.local, usage.counted.local_bytes);
  add_known(families.rate, usage.total_bytes_per_second);
}

void add_classes(UsageFamilies& caches, UsageFamilies& nodes, const NodeState& state, const UsageSample& sample) {
  const std::map<ClosId, const Workload*> owners = owners_of_classes(state);
  for (const auto& [clos, domains] : sample.classes) {
    const auto owner = owners.find(clos);
    if (owner == owners.end()) continue;  // its workloads were deleted after the sample
    const Workload* alone = owner->second;
    for (const auto& [domain, usage] : domains) {
      metrics::Labels labels{{"class", text_of(clos)},
                             {"workload", alone == nullptr ? "" : id_text(*alone)},
                             {"cache", std::to_string(domain.cache.value)}};
      if (domain.numa_node) labels.emplace_back("numa_node", std::to_string(*domain.numa_node));
      // Omit samples that belong to the class's previous workload.
      const std::optional<CacheUsage> its = alone == nullptr ? usage : usage_of(sample, *alone, domain);
      if (its) add(domain.numa_node ? nodes : caches, *its, labels);
    }
  }
}

// Reports the last sample and triggers a new one for the next scrape.
void add_usage(Families& families, const routing::Call& call, const NodeState& state) {
  UsageFamilies caches = families_of_caches();
  UsageFamilies nodes = families_of_numa_nodes();
  Family age{.name = "nrd_usage_age_seconds", .help = "Age of the sample behind the nrd_class_* metrics"};
  const auto sample = state.facts.rdt.monitoring ? call.engine.last_usage() : nullptr;
  if (sample) {
    age.add(seconds(std::chrono::steady_clock::now() - sample->taken));
    add_classes(caches, nodes, state, *sample);
  }
  for (UsageFamilies* its : {&caches, &nodes})
    families.insert(families.end(),
                    {std::move(its->occupancy), std::move(its->total), std::move(its->local), std::move(its->rate)});
  families.push_back(std::move(age));
}

}  // namespace

void show_metrics(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  Families families;
  add_service(families, *state, call.service);
  add_workloads(families, *state);
  add_workload_info(families, *state);
  add_ways(families, *state);
  add_sizes(families, *state);
  add_cpu_pools(families, *state);
  add_cpu_conflicts(families, *state);
  add_frequencies(families, *state);
  add_usage(families, call, *state);
  add_latencies(families, state->latencies);
  add_requests(families, *call.service.counters);
  add_launch_metrics(families, call);
  add_process(families, call.service.counters->start_time());
  reply.send({.status = 200, .content_type = metrics::kContentType, .body = metrics::exposition(families)});
}

}  // namespace nrd::v1
