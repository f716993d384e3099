// The control socket's language. One request is one line; each is answered with one line, "ok …" or "error …".
//
//   pid                          ok pid=N: the command, which runs when this answers
//   count                        ok writes=N: writes, mkdirs, rmdirs on the hardware since the start or last reset
//   log                          ok ["mkdir COS1", "write COS1/schemata L3:0=3\n", …]: the same, in order
//   reset                        counter to 0, log empty, no faults
//   fault write N errno NAME     the N-th write from now fails with EIO, EBUSY, …, and is not applied
//   fault write N lie            … succeeds and is not applied
//   fault write N kill-before    … is not applied, and its writer gets SIGKILL
//   fault write N kill-after     … is applied, and its writer gets SIGKILL before it learns so
//   fault write N delay MS       … is applied after MS milliseconds; everything else waits too
//   fault read PATH errno NAME   the next read of PATH fails: COS1/schemata is below resctrl; of others the whole path
//                                and no link: /sys/devices/system/cpu/cpufreq/policy3/scaling_min_freq; of a register
//                                /dev/cpu/3/msr/0x199
//   wipe                         a reboot as a daemon sees it: fresh resctrl, cpufreq, MSRs, a new boot id
//   vanish GROUP                 the group is removed behind its user's back; /sys/fs/cgroup/x: a cgroup
//   remount percent, … mbps,     resctrl is mounted again, without options, with mba_MBps, with cdp: no groups,
//   … cdp                        unlimited bandwidth
//   offline CPU, online CPU      hotplug
//   use GROUP CACHE FILE VALUE   what mon_data of the group says from now: use COS1 0 mbm_total_bytes +1048576
//                                adds to it, a number sets it, Unavailable or Error stands in its place; / is the
//                                root, and COS1/mon_groups/x a group below mon_groups
//   dump                         ok {"/": {"closid": 0, "mode": "shareable", "L3": {"0": "7ff"}, "MB": {"0": "100"},
//                                "cpus": "0-3", "tasks": [1, 2]}, "COS1": …}; the root's tasks are left out: all
//                                others. L3 and code are of the last level, of which there may be no third; with
//                                --l2-cat there are L2 and l2_code beside them
//   freq                         ok {"0": {"min": 800000, "max": 3500000, "governor": "powersave", "epp": "power"}, …}:
//                                what holds on each CPU online, in kHz; no epp where the driver has none. With MSRs
//                                also "msr": {"0x199": 5632, …}, all that can be read, in decimal
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "node.h"

namespace nrd::simnode {

std::string answer_control(Node& node, pid_t command, std::string_view request);

}  // namespace nrd::simnode
