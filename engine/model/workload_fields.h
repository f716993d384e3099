// The members of a workload and their names in JSON, each listed once (base/json/fields.h). A new member goes here with
// or_default(), so that workloads stored without it can be read.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "base/json/fields.h"
#include "engine/model/workload.h"

namespace nrd {

template <>
inline constexpr auto json::kNames<Pool> =
    std::array{std::pair{Pool::None, "none"}, std::pair{Pool::Guarantee, "guarantee"},
               std::pair{Pool::BestEffort, "besteffort"}, std::pair{Pool::Shared, "shared"}};
template <>
inline constexpr auto json::kNames<FrequencyRequest::Unit> =
    std::array{std::pair{FrequencyRequest::Unit::Ratio, "ratio"}, std::pair{FrequencyRequest::Unit::Mhz, "mhz"}};
template <>
inline constexpr auto json::kNames<FrequencyRequest::SharedDomain> =
    std::array{std::pair{FrequencyRequest::SharedDomain::Refuse, "refuse"},
               std::pair{FrequencyRequest::SharedDomain::Allow, "allow"}};
template <>
inline constexpr auto json::kNames<MbaRequest::Unit> =
    std::array{std::pair{MbaRequest::Unit::Percentage, "percentage"}, std::pair{MbaRequest::Unit::Mbps, "mbps"}};
template <>
inline constexpr auto json::kNames<rdt::MbaUnit> =
    std::array{std::pair{rdt::MbaUnit::Percent, "percent"}, std::pair{rdt::MbaUnit::Mbps, "mbps"},
               std::pair{rdt::MbaUnit::EighthsOfGbps, "eighths_of_gbps"}};

template <>
inline constexpr auto json::kFields<CacheRequest> = std::tuple(Field("max", &CacheRequest::max),
                                                               Field("min", &CacheRequest::min),
                                                               Field("code", &CacheRequest::code).or_default());

template <>
inline constexpr auto json::kFields<L2Request> = std::tuple(Field("ways", &L2Request::ways),
                                                            Field("code", &L2Request::code).or_default());

template <>
inline constexpr auto json::kFields<BranchMissThreshold> = std::tuple(Field("percent", &BranchMissThreshold::percent));

template <>
inline constexpr auto json::kFields<FrequencyRequest> =
    std::tuple(Field("unit", &FrequencyRequest::unit), Field("min", &FrequencyRequest::min),
               Field("max", &FrequencyRequest::max), Field("governor", &FrequencyRequest::governor).or_default(),
               Field("epp", &FrequencyRequest::epp).or_default(), Field("turbo", &FrequencyRequest::turbo).or_default(),
               Field("shared_domain", &FrequencyRequest::shared_domain).or_default(),
               Field("threshold", &FrequencyRequest::threshold),
               Field("is_monitored", &FrequencyRequest::is_monitored).or_default());

template <>
inline constexpr auto json::kFields<MbaRequest> = std::tuple(Field("unit", &MbaRequest::unit),
                                                             Field("value", &MbaRequest::value));

template <>
inline constexpr auto json::kFields<OnloadUse> =
    std::tuple(Field("profiles", &OnloadUse::profiles).or_default(), Field("env", &OnloadUse::env).or_default(),
               Field("profiles_win", &OnloadUse::profiles_win).or_default(),
               Field("generation", &OnloadUse::generation), Field("version", &OnloadUse::version));

// Without `uuid` and `given_id`, which are columns, and `cpus`, which is `core_ids` parsed.
template <>
inline constexpr auto json::kFields<Spec> = std::tuple(Field("core_ids", &Spec::core_ids).or_default(),
                                                       Field("policy", &Spec::policy).or_default(),
                                                       Field("cache", &Spec::cache), Field("l2", &Spec::l2),
                                                       Field("mba", &Spec::mba), Field("frequency", &Spec::frequency),
                                                       Field("owner", &Spec::owner), Field("onload", &Spec::onload),
                                                       Field("tasks", &Spec::tasks).or_default(),
                                                       Field("task_cpus", &Spec::task_cpus).or_default());

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
inline constexpr auto json::kFields<Grant> = std::tuple(Field("pool", &Grant::pool),
                                                        Field("clos", &Grant::clos).or_default(),
                                                        Field("ways", &Grant::ways).or_default(),
                                                        Field("frequencies", &Grant::frequencies).or_default(),
                                                        Field("bandwidth", &Grant::bandwidth).or_default());

// Without what are columns.
template <>
inline constexpr auto json::kFields<Workload> = std::tuple(Field("spec", &Workload::spec),
                                                           Field("grant", &Workload::grant),
                                                           Field("created", &Workload::created),
                                                           Field("updated", &Workload::updated));

}  // namespace nrd
