// Services that manage CPUs of the whole host: kubelet, tuned, irqbalance. Pure: from the text of their files to the
// conflict that it means, if any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hw/cpuset/types.h"

namespace nrd::cpuset {

inline constexpr const char* kKubeletState = "/var/lib/kubelet/cpu_manager_state";
inline constexpr const char* kTunedProfile = "/etc/tuned/active_profile";
inline constexpr const char* kIrqbalanceDefaults = "/etc/default/irqbalance";

// The static CPU manager, with CPUs of pools among those that it hands out. `state`: of kKubeletState.
std::optional<Conflict> kubelet_conflict(std::string_view state, const CpuSet& pooled);

// The active profile that isolates CPUs; empty: none, or that of `nrdctl export tuned` is active as well, which spares
// nrd's workloads. `profiles`: of kTunedProfile.
std::string isolating_profile(std::string_view profiles);
// "/etc/tuned/cpu-partitioning-variables.conf"
std::string variables_file_of(const std::string& profile);
// `variables`: of this file; with cgroup_ps_blacklist there is no conflict. CPUs that only tuned can tell, such as
// ${f:calc_isolated_cores:1}, count as all.
std::optional<Conflict> tuned_conflict(const std::string& profile, std::string_view variables, const CpuSet& pooled);

// `defaults`: of kIrqbalanceDefaults; empty: irqbalance has its defaults.
std::optional<Conflict> irqbalance_conflict(std::string_view defaults, const PoolUse& use);

}  // namespace nrd::cpuset
