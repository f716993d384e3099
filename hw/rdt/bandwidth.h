// Memory bandwidth: what the numbers of the kernel's MB lines mean, and what is written there.
//
// The number 50 is half of the bandwidth on one mount and next to nothing on another (50 MB/s), so no number is written
// before the unit has been looked at anew. It is written to the kernel's file: libpqos takes the unit from when it
// started.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// `largest` is the largest number that any group has: in percent there is none above 100, while a group that nobody
// limited has kUnlimitedMbps, or on AMD 2048 eighths of GB/s or more.
MbaUnit unit_of(bool is_amd, bool is_mounted_in_mbps, uint32_t largest);

// A line of /proc/self/mountinfo about /sys/fs/resctrl that has the option mba_MBps.
bool is_mounted_in_mbps(std::string_view mountinfo);

// Unit and largest number, from the kernel's files as they are now; the rest of `info` stays.
Result<MbaInfo> with_unit(MbaInfo info, bool is_amd);

using Limits = std::map<ClosId, std::map<CacheId, uint32_t>>;
// What `wanted` says and `observed` does not. A unit that is not `now` is a failure: then nothing may be written.
Result<Limits> limits_to_write(const Observed& observed, const Setting& wanted, const std::optional<MbaInfo>& now);
Result<void> write_limits(const Limits& limits);
// From the kernel's files, which `observed` has after that.
Result<void> read_back(const Limits& limits, Observed& observed);

}  // namespace nrd::rdt
