// Finds the users of Onload on this node before a module is removed, by one walk over all processes.
//
//   1. stacks of running applications           /proc/driver/onload/stacks_ul
//   2. open devices and sockets                 /proc/PID/fd
//   3. mapped devices, and root's libonload.so  /proc/PID/maps
//   4. references to the modules that 2 does not explain; see refcount_audit.h
//   5. other modules that depend on them
//   6. orphaned stacks                          /proc/driver/onload/stacks_k: reported, but not in use
//
// Control plane servers and shrub controllers exist because the module is loaded, so they are listed as services.
// Threads usually share the files of their process; one with its own files shows up in 4. Anything that cannot be
// inspected is reported and counts as use. New users may start after the walk: block device access first (devices.h),
// and remove modules in a way that fails while they are used.
//
// Takes about a second on a busy node, or forever; see user_finder.h.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hw/onload/open_handles.h"
#include "hw/onload/refcount_audit.h"
#include "hw/onload/types.h"

namespace nrd::onload {

struct Walk {
  SearchLimits limits;
  std::chrono::seconds time{30};
  std::string library;  // the installed libonload.so; empty: only deleted libraries count as stale
  FileOrder order = order_of_files;
  std::shared_ptr<std::atomic<pid_t>> at = std::make_shared<std::atomic<pid_t>>(0);  // the process that is inspected
};

// `root` contains proc and sys; "": the host.
InUse find_users(const std::string& root, const Clock& clock, const Walk& walk);

// The path in the hierarchy of systemd or the unified one; empty: none.
std::string parse_cgroup(std::string_view text);
// "feed.service" for "/system.slice/feed.service/worker"; empty: none.
std::string unit_of(std::string_view cgroup);

}  // namespace nrd::onload
