// The RDT features of the CPU, and the options that resctrl was mounted with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// The flags of a /proc/cpuinfo; nothing about the mount.
Capabilities flags_in(std::string_view cpuinfo);

// The files bandwidth_gran and min_bandwidth of info/MB, nullopt where there is none. Both are required for MBA.
Result<std::optional<MbaInfo>> parse_mba_info(const std::optional<std::string>& bandwidth_gran,
                                              const std::optional<std::string>& min_bandwidth);

// flags_in() of this host. They are constant until the next boot, and reading them is slow on a large host.
Result<Capabilities> read_flags();
// `flags` plus the properties of the present mount.
Result<Capabilities> with_mount(Capabilities flags);

// MbaInfo::throttle_mode.
std::string read_throttle_mode();

}  // namespace nrd::rdt
