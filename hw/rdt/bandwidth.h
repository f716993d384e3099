// Memory bandwidth: the unit of the kernel's MB lines, and writing them.
//
// The number 50 is half of the bandwidth on one mount and almost nothing on another (50 MB/s), so re-read the unit
// before each write. Writes go to the kernel's file: libpqos uses the unit from when it started.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

// `largest` is the largest number of any group: in percent at most 100, while an unlimited group has kUnlimitedMbps, or
// on AMD at least 2048 eighths of GB/s.
MbaUnit unit_of(bool is_amd, bool is_mounted_in_mbps, uint32_t largest);

// The number of a group that was never limited. Not `largest` where the unit is known, because other software may have
// limited every group.
uint32_t most_in(MbaUnit unit, bool is_mounted_in_mbps, uint32_t largest);

// True for a line of /proc/self/mountinfo about /sys/fs/resctrl with the option mba_MBps.
bool is_mounted_in_mbps(std::string_view mountinfo);

// Updates unit and largest number from the kernel's present files; the rest of `info` stays.
Result<MbaInfo> with_unit(MbaInfo info, bool is_amd);

using Limits = std::map<ClosId, std::map<CacheId, uint32_t>>;
// The limits of `wanted` that differ in `observed`. A unit other than `now` is a failure: then nothing may be written.
Result<Limits> limits_to_write(const Observed& observed, const Setting& wanted, const std::optional<MbaInfo>& now);
Result<void> write_limits(const Limits& limits);
// Updates `observed` from the kernel's files.
Result<void> read_back(const Limits& limits, Observed& observed);

}  // namespace nrd::rdt
