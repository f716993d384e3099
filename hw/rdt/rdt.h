// The interface of the RDT module: discover, observe, converge.
//
// Masks are written through libpqos or the kernel's files (mask_writers.h), CPUs (see pqos.h), tasks (tasks.h) and
// groups (groups.h) through the kernel's files. Reading back always uses the kernel's files, so nrd trusts the kernel
// and not the library's own state. Only the engine thread may call: libpqos is not transactional, and its resctrl lock
// uses SIGALRM.
//
// Between observations unchanged settings are trusted: converge() compares with the last observation, reads back what
// it wrote, and trusts nothing after a failure. The engine's drift timer calls observe() to see the rest.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "base/result.h"
#include "hw/rdt/mount.h"
#include "hw/rdt/types.h"

namespace nrd::rdt {

class Rdt {
 public:
  // Starts libpqos where the node has RDT. A node without it is not an error: discover() then reports what is missing.
  // A mount option that cannot be applied is an error.
  static Result<std::unique_ptr<Rdt>> start(const MountOptions& options = {});
  virtual ~Rdt() = default;

  // The present CPUs, caches and capabilities; call it again after hotplug.
  virtual Result<Node> discover() = 0;
  // Every group, read from the kernel. Empty on a node without RDT. `tasks`: those whose groups to determine.
  virtual Result<Observed> observe(const std::set<Task>& tasks = {}) = 0;
  // The names of all groups except the root; cheaper than observe().
  virtual Result<std::set<std::string>> group_names() = 0;
  // Usage of these classes on these caches; nothing on a node without monitoring. Classes in `asked` get bandwidth
  // counters where these are assigned, and keep them (monitor.h).
  virtual Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>& asked) = 0;
  // Checks that the locks that converge() needs are free; waits briefly. Busy names the holder.
  virtual Result<void> await_locks() = 0;
  // Writes what differs, removes bits before granting them, reads back. ErrorCode::Hardware names the first setting
  // that did not take effect ("class COS3 on cache 0 did not take ways 0x00f (found 0x7ff)"); some settings may then
  // have been written: converge to the previous setting. NoClass and Busy: a group could not be created (groups.h).
  // Offline CPUs must not be named.
  virtual Result<void> converge(const Setting& wanted) = 0;
};

}  // namespace nrd::rdt
