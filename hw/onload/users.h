// Who uses Onload on this node: the whole question before a module is taken away, answered by one walk over all
// processes.
//
//   1. stacks of living applications            /proc/driver/onload/stacks_ul
//   2. open devices and sockets                 /proc/PID/fd
//   3. mapped devices, and root's libonload.so  /proc/PID/maps
//   4. references to the modules that 2 does not explain; see references.h
//   5. modules that are not Onload's and use them
//   6. stacks that outlived their applications  /proc/driver/onload/stacks_k: told, but in nobody's way
//
// Control plane servers and shrub controllers are there because the module is, and are told apart as services. Threads
// share their process's files as a rule; one that has files of its own shows in 4. What cannot be looked at is told and
// counts as use. Between the answer and what is done with it a new user may come: close the door first (devices.h), and
// remove modules in a way that fails when they are used.
//
// Takes about a second on a busy node. Engine thread.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hw/onload/open_handles.h"
#include "hw/onload/refcount_audit.h"
#include "hw/onload/types.h"

namespace nrd::onload {

struct Walk {
  WalkLimits limits;
  std::chrono::seconds time{30};
  std::string library;  // the installed libonload.so, to know stale users by; empty: only deleted ones are known
  FileOrder order = order_of_files;  // of files of the processes that are walked over
};

// Below `root` lie proc and sys; "" is the host itself.
InUse find_users(const std::string& root, const Clock& clock, const Walk& walk);

// Parts of it.

// The path in the hierarchy of systemd or the unified one; empty: there is none.
std::string parse_cgroup(std::string_view text);
// "/system.slice/feed.service/worker" is in "feed.service"; empty: in none.
std::string unit_of(std::string_view cgroup);

}  // namespace nrd::onload
