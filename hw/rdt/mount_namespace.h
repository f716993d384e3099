// Determines whether the host sees nrd's mounts.
//
// nrd.service runs in a mount namespace of its own (because of ProtectSystem= and others). A mount made there is
// invisible to the host and ends with the service, and with the last mount of resctrl the kernel resets every class. So
// nrd mounts only where PID 1 sees the result: in the same namespace, or in one whose mounts propagate to PID 1's.
//
// Compares the namespaces by mountinfo (proc(5)), which every process may read. Reading the link /proc/1/ns/mnt
// requires all of PID 1's capabilities or CAP_SYS_PTRACE, and the service has neither.
//
//   of PID 1:     23 27 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw
//   the service:  371 340 0:22 / /sys rw,nosuid shared:188 master:7 - sysfs sysfs rw     (receives, does not send)
#pragma once

#include <string_view>

namespace nrd::rdt {

// True if a file system mounted on `path`, an absolute path without "/" at its end, in the namespace of `own` appears
// in that of `init`. Both are texts of a mountinfo.
bool propagates(std::string_view own, std::string_view init, std::string_view path);

// The same for this process, PID 1 and /sys/fs/resctrl. False where the kernel hides PID 1's mounts.
bool is_mount_visible_to_host();

}  // namespace nrd::rdt
