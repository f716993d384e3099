// What the part says that it has, and what resctrl was mounted with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// The flags of a /proc/cpuinfo; nothing about the mount.
Capabilities flags_in(std::string_view cpuinfo);

// The files bandwidth_gran and min_bandwidth of info/MB, nullopt where there is none. Without both this is no MBA.
Result<std::optional<MbaInfo>> parse_mba_info(const std::optional<std::string>& bandwidth_gran,
                                              const std::optional<std::string>& min_bandwidth);

// flags_in() of this host. They last until the next boot, and reading them takes a while on a large one.
Result<Capabilities> read_flags();
// `flags` with what holds of the mount now.
Result<Capabilities> with_mount(Capabilities flags);

// MbaInfo::throttle_mode.
std::string read_throttle_mode();

}  // namespace nrd::rdt
