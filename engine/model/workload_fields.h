// The members of a workload, each listed once (base/json/fields.h). A new member goes here with or_default(), so that
// workloads stored without it can be read.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "base/json/fields.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/workload.h"

namespace nrd {

template <>
inline constexpr auto json::kNames<Pool> =
    std::array{std::pair{Pool::None, "none"}, std::pair{Pool::Guarantee, "guarantee"},
               std::pair{Pool::BestEffort, "besteffort"}, std::pair{Pool::Shared, "shared"}};
template <>
inline constexpr auto json::kNames<FrequencyRequest::SharedDomain> =
    std::array{std::pair{FrequencyRequest::SharedDomain::Allow, "allow"},
               std::pair{FrequencyRequest::SharedDomain::Refuse, "refuse"}};
template <>
inline constexpr auto json::kNames<FrequencyRequest::Monitoring> =
    std::array{std::pair{FrequencyRequest::Monitoring::On, "on"}, std::pair{FrequencyRequest::Monitoring::Off, "off"}};
template <>
inline constexpr auto json::kNames<rdt::MbaUnit> =
    std::array{std::pair{rdt::MbaUnit::Percent, "percent"}, std::pair{rdt::MbaUnit::Mbps, "mbps"},
               std::pair{rdt::MbaUnit::EighthsOfGbps, "eighths_of_gbps"}};

// What clients ask for: in requests, answers, the store, and as options of nrdctl.
inline constexpr json::Rules kWayCount{.expected = "a whole number of ways", .unset = json::Unset::Null};
inline constexpr json::Rules kCodeWays{.expected = "a whole number of ways", .unset = json::Unset::NullIsDefault};
inline constexpr json::Rules kBound{.expected = "a whole number above 0", .least = 1};
inline constexpr json::Rules kKernelName{
    .expected = "a string of at most 64 bytes", .most = 64, .unset = json::Unset::Null};

template <>
inline constexpr const char* json::kExample<CacheRequest> = "an object such as {\"max\": 2, \"min\": 2}";
template <>
inline constexpr auto json::kFields<CacheRequest> =
    std::tuple(Field("max", &CacheRequest::max, kWayCount, {"--max", "maximum number of L3 cache ways"}),
               Field("min", &CacheRequest::min, kWayCount,
                     {"--min", "minimum number of L3 cache ways; --max 0 --min 0 uses the shared class"}),
               Field("code", &CacheRequest::code, kCodeWays,
                     {"--code-ways", "number of these ways for code only; the rest is for data (CDP)"})
                   .or_default());

template <>
inline constexpr const char* json::kExample<L2Request> = "an object such as {\"ways\": 4}";
template <>
inline constexpr auto json::kFields<L2Request> = std::tuple(
    Field("ways", &L2Request::ways, {.expected = kWayCount.expected, .least = 1, .unset = Unset::Null},
          {"--l2-ways", "exact number of ways of each L2 cache, on nodes that allocate L2 and L3"}),
    Field("code", &L2Request::code, kCodeWays, {"--l2-code-ways", "number of the L2 ways for code only (CDP)"})
        .or_default());

// RMD's limits.
template <>
inline constexpr const char* json::kExample<MbaRequest> = "an object such as {\"percentage\": 50} or {\"mbps\": 5000}";
template <>
inline constexpr auto json::kFields<MbaRequest> = std::tuple(
    Field("percentage", &MbaRequest::value, &MbaRequest::unit, MbaRequest::Unit::Percentage,
          {.expected = "a whole number", .least = 1, .most = MbaRequest::kMostPercent, .unset = Unset::Empty},
          {"--mba-percentage", "memory bandwidth limit in percent"})
        .or_default(),
    Field("mbps", &MbaRequest::value, &MbaRequest::unit, MbaRequest::Unit::Mbps,
          {.expected = "a whole number", .least = 1, .most = MbaRequest::kMostMbps, .unset = Unset::Empty},
          {"--mba-mbps", "memory bandwidth limit in MB/s; GET /v1/mba shows which unit this node takes"})
        .or_default());

// Its number; some clients of RMD's operator send that as a string.
template <>
struct json::Codec<BranchMissThreshold> {
  static Result<BranchMissThreshold> read(const Value& value);
  static void write(Writer& writer, BranchMissThreshold threshold) { json::write(writer, threshold.percent); }
};

template <>
inline constexpr const char* json::kExample<FrequencyRequest> =
    "an object such as {\"min_ratio\": 22, \"max_ratio\": 30}";
template <>
inline constexpr auto json::kFields<FrequencyRequest> = std::tuple(
    Field("min_ratio", &FrequencyRequest::min, &FrequencyRequest::unit, FrequencyRequest::Unit::Ratio, kBound,
          {"--min-ratio", "minimum frequency in multiples of 100 MHz"}),
    Field("max_ratio", &FrequencyRequest::max, &FrequencyRequest::unit, FrequencyRequest::Unit::Ratio, kBound,
          {"--max-ratio", "maximum frequency in multiples of 100 MHz; one bound alone sets both"}),
    Field("min_mhz", &FrequencyRequest::min, &FrequencyRequest::unit, FrequencyRequest::Unit::Mhz, kBound,
          {"--min-mhz", "minimum frequency in MHz"}),
    Field("max_mhz", &FrequencyRequest::max, &FrequencyRequest::unit, FrequencyRequest::Unit::Mhz, kBound,
          {"--max-mhz", "maximum frequency in MHz"}),
    Field("governor", &FrequencyRequest::governor, kKernelName, {"--governor", "cpufreq governor"}).or_default(),
    Field("epp", &FrequencyRequest::epp, kKernelName, {"--epp", "energy performance preference"}).or_default(),
    Field("ratio", &FrequencyRequest::threshold,
          {.expected = "a number above 0 (branch misses in percent of hits)",
           .allowed = "above 0",
           .unset = Unset::Empty},
          {"--adaptive", "run fast while branch misses exceed this percentage of hits, otherwise slow"}),
    Field("monitoring", &FrequencyRequest::monitoring, {.unset = Unset::Null},
          {"--monitoring", "on (the default) or off: whether --adaptive takes effect"})
        .or_default(),
    Field("turbo", &FrequencyRequest::turbo, Rules{}, {"--no-turbo", "do not exceed the base frequency", "false"})
        .or_default(),
    Field("shared_domain", &FrequencyRequest::shared_domain, {.unset = Unset::Null},
          {"--allow-shared-domain", "accept that CPUs in the same frequency domain change as well", "\"allow\""})
        .or_default());

template <>
inline constexpr auto json::kNames<cpuset::Level> =
    std::array{std::pair{cpuset::Level::Machine, "machine"}, std::pair{cpuset::Level::Package, "package"},
               std::pair{cpuset::Level::Die, "die"},         std::pair{cpuset::Level::Node, "node"},
               std::pair{cpuset::Level::L3, "l3"},           std::pair{cpuset::Level::L2, "l2"},
               std::pair{cpuset::Level::Core, "core"}};

template <>
inline constexpr auto json::kNames<cpuset::Conflict::Source> =
    std::array{std::pair{cpuset::Conflict::Source::Kubelet, "kubelet"},
               std::pair{cpuset::Conflict::Source::Tuned, "tuned"},
               std::pair{cpuset::Conflict::Source::Irqbalance, "irqbalance"},
               std::pair{cpuset::Conflict::Source::Partition, "partition"},
               std::pair{cpuset::Conflict::Source::Cgroup, "cgroup"},
               std::pair{cpuset::Conflict::Source::Unit, "unit"}};

template <>
inline constexpr auto json::kNames<cpuset::Disturbance::Source> =
    std::array{std::pair{cpuset::Disturbance::Source::Interrupt, "interrupt"},
               std::pair{cpuset::Disturbance::Source::NewInterrupts, "new_interrupts"},
               std::pair{cpuset::Disturbance::Source::Workqueues, "workqueues"},
               std::pair{cpuset::Disturbance::Source::Watchdog, "watchdog"},
               std::pair{cpuset::Disturbance::Source::BoundThreads, "bound_threads"},
               std::pair{cpuset::Disturbance::Source::UnboundThreads, "unbound_threads"},
               std::pair{cpuset::Disturbance::Source::Tick, "tick"},
               std::pair{cpuset::Disturbance::Source::Sibling, "sibling"},
               std::pair{cpuset::Disturbance::Source::IdleStates, "idle_states"},
               std::pair{cpuset::Disturbance::Source::Governor, "governor"},
               std::pair{cpuset::Disturbance::Source::RealTimeLimit, "sched_rt_runtime"},
               std::pair{cpuset::Disturbance::Source::HugePages, "transparent_huge_pages"},
               std::pair{cpuset::Disturbance::Source::Kubelet, "kubelet"},
               std::pair{cpuset::Disturbance::Source::Tuned, "tuned"},
               std::pair{cpuset::Disturbance::Source::Irqbalance, "irqbalance"}};

template <>
inline constexpr auto json::kNames<CpuPool::Kind> =
    std::array{std::pair{CpuPool::Kind::Exclusive, "exclusive"}, std::pair{CpuPool::Kind::Shared, "shared"}};
template <>
inline constexpr auto json::kNames<Confinement> =
    std::array{std::pair{Confinement::None, "none"}, std::pair{Confinement::Slices, "slices"},
               std::pair{Confinement::Partition, "partition"}};
template <>
inline constexpr auto json::kNames<CpuPool::Threads> =
    std::array{std::pair{CpuPool::Threads::One, "one"}, std::pair{CpuPool::Threads::All, "all"},
               std::pair{CpuPool::Threads::Any, "any"}};
template <>
inline constexpr auto json::kNames<CpuRequest::Enforce> =
    std::array{std::pair{CpuRequest::Enforce::Nrd, "nrd"}, std::pair{CpuRequest::Enforce::Runtime, "runtime"}};
template <>
inline constexpr auto json::kNames<CpuRequest::Memory> =
    std::array{std::pair{CpuRequest::Memory::Any, "any"}, std::pair{CpuRequest::Memory::Near, "near"}};
template <>
inline constexpr auto json::kNames<CpuPool::Order> =
    std::array{std::pair{CpuPool::Order::Pack, "pack"}, std::pair{CpuPool::Order::Spread, "spread"}};

inline constexpr json::Rules kCpuCount{
    .expected = "a whole number of CPUs", .least = 1, .most = CpuSet::kMaxCpus, .unset = json::Unset::Null};
inline constexpr json::Rules kCpuMilli{.expected = "thousandths of a CPU",
                                       .least = 1,
                                       .most = uint64_t{1000} * CpuSet::kMaxCpus,
                                       .unset = json::Unset::Null};
inline constexpr json::Rules kCpuNames{.expected = "a list of strings", .unset = json::Unset::Null};

template <>
inline constexpr const char* json::kExample<CpuRequest> = "an object such as {\"pool\": \"fast\", \"count\": 2}";
template <>
inline constexpr auto json::kFields<CpuRequest> = std::tuple(
    Field("pool", &CpuRequest::pool, {.expected = "the name of a pool", .most = 64, .unset = Unset::Null},
          {"--pool", "CPU pool to take CPUs from; may be left out if there is one"})
        .or_default(),
    Field("count", &CpuRequest::count, kCpuCount, {"--count", "number of exclusive CPUs"}).or_default(),
    Field("cores", &CpuRequest::cores,
          {.expected = "a whole number of cores", .least = 1, .most = CpuSet::kMaxCpus, .unset = Unset::Null},
          {"--cores", "number of whole cores, with all their threads"})
        .or_default(),
    Field("cpus", &CpuRequest::cpus, {.expected = "a CPU list such as \"4-6\"", .unset = Unset::Null},
          {"--pool-cpus", "exactly these CPUs of the pool"})
        .or_default(),
    Field("request_milli", &CpuRequest::request_milli, kCpuMilli,
          {"--request-milli", "thousandths of a CPU in a shared pool, the share of its CPU time"})
        .or_default(),
    Field("limit_milli", &CpuRequest::limit_milli, kCpuMilli,
          {"--limit-milli", "use at most these thousandths of a CPU in a shared pool"})
        .or_default(),
    Field("near", &CpuRequest::near, kCpuNames,
          {"--near", "prefer CPUs near this: eth1, 0000:17:00.0, nvme0n1, node:1, cpu:8, workload:7; repeatable"})
        .or_default(),
    Field("strict", &CpuRequest::strict, Rules{}, {"--strict", "--near is a requirement", "true"}).or_default(),
    Field("apart", &CpuRequest::apart, kCpuNames,
          {"--apart", "id of a workload with which no core is shared; repeatable"})
        .or_default(),
    Field("level", &CpuRequest::level, {.expected = "\"core\", \"l3\" or \"node\"", .unset = Unset::Null},
          {"--apart-level", "what is not shared: core (the default), l3 or node"})
        .or_default(),
    Field("among", &CpuRequest::among, {.expected = "a CPU list such as \"4-9\"", .unset = Unset::Null},
          {"--among", "with --dry-run: choose only among these CPUs"})
        .or_default(),
    Field("enforce", &CpuRequest::enforce, {.expected = "\"nrd\" or \"runtime\"", .unset = Unset::Null},
          {"--enforce", "who writes the cpuset of the cgroup: nrd (the default), or a container runtime"})
        .or_default(),
    Field("memory", &CpuRequest::memory, {.expected = "\"any\" or \"near\"", .unset = Unset::Null},
          {"--memory", "where memory comes from: any (the default), or near, the NUMA nodes of the CPUs"})
        .or_default(),
    Field("migrate", &CpuRequest::migrate, Rules{},
          {"--migrate", "move the memory of a running unit or cgroup to the nodes of --memory near", "true"})
        .or_default());

template <>
inline constexpr auto json::kFields<CpuGrant> =
    std::tuple(Field("pool", &CpuGrant::pool), Field("exclusive", &CpuGrant::exclusive).or_default(),
               Field("idle_siblings", &CpuGrant::idle_siblings).or_default(),
               Field("zone", &CpuGrant::zone).or_default(), Field("memory_nodes", &CpuGrant::memory_nodes).or_default(),
               Field("reason", &CpuGrant::reason).or_default(), Field("has_scope", &CpuGrant::has_scope).or_default());

template <>
inline constexpr auto json::kFields<OnloadUse> =
    std::tuple(Field("profiles", &OnloadUse::profiles).or_default(), Field("env", &OnloadUse::env).or_default(),
               Field("profiles_win", &OnloadUse::profiles_win).or_default(),
               Field("generation", &OnloadUse::generation), Field("version", &OnloadUse::version));

template <>
inline constexpr auto json::kFields<CgroupOwner> = std::tuple(Field("within_seconds", &CgroupOwner::within_seconds),
                                                              Field("has_come", &CgroupOwner::has_come),
                                                              Field("usage_us", &CgroupOwner::usage_us).or_default(),
                                                              Field("since", &CgroupOwner::since).or_default());

// Without `uuid` and `given_id`, which are columns, and `cpus`, which is `core_ids` parsed.
template <>
inline constexpr auto json::kFields<Spec> = std::tuple(
    Field("core_ids", &Spec::core_ids).or_default(), Field("policy", &Spec::policy).or_default(),
    Field("cache", &Spec::cache), Field("l2", &Spec::l2), Field("mba", &Spec::mba),
    Field("frequency", &Spec::frequency), Field("owner", &Spec::owner), Field("onload", &Spec::onload),
    Field("tasks", &Spec::tasks).or_default(), Field("task_cpus", &Spec::task_cpus).or_default(),
    Field("name", &Spec::name).or_default(), Field("labels", &Spec::labels).or_default(), Field("cpu", &Spec::cpu),
    Field("near_cpus", &Spec::near_cpus).or_default(), Field("further_cpus", &Spec::further_cpus).or_default(),
    Field("runs_caller", &Spec::runs_caller).or_default(), Field("unit", &Spec::unit).or_default(),
    Field("cgroup", &Spec::cgroup).or_default(), Field("cgroup_owner", &Spec::cgroup_owner),
    Field("quota_uid", &Spec::quota_uid));

template <>
inline constexpr auto json::kFields<pstate::FrequencySetting> =
    std::tuple(Field("min_khz", &pstate::FrequencySetting::min), Field("max_khz", &pstate::FrequencySetting::max),
               Field("governor", &pstate::FrequencySetting::governor).or_default(),
               Field("epp", &pstate::FrequencySetting::epp).or_default());

template <>
inline constexpr auto json::kFields<rdt::Bandwidth> = std::tuple(Field("unit", &rdt::Bandwidth::unit),
                                                                 Field("value", &rdt::Bandwidth::value));

// CPUs with the same setting together: [["0-1023", {...}]].
template <>
struct json::Codec<std::map<CpuId, pstate::FrequencySetting>> {
  using Settings = std::map<CpuId, pstate::FrequencySetting>;
  using Groups = std::vector<std::pair<CpuSet, pstate::FrequencySetting>>;
  static Result<Settings> read(const Value& value);
  static void write(Writer& writer, const Settings& settings);
};

template <>
inline constexpr auto json::kFields<Grant> = std::tuple(
    Field("pool", &Grant::pool), Field("clos", &Grant::clos).or_default(), Field("ways", &Grant::ways).or_default(),
    Field("frequencies", &Grant::frequencies).or_default(), Field("bandwidth", &Grant::bandwidth).or_default(),
    Field("cpu", &Grant::cpu), Field("cpu_by_pool", &Grant::cpu_by_pool).or_default());

// Without what are columns.
template <>
inline constexpr auto json::kFields<Workload> = std::tuple(Field("spec", &Workload::spec),
                                                           Field("grant", &Workload::grant),
                                                           Field("created", &Workload::created),
                                                           Field("updated", &Workload::updated));

}  // namespace nrd
