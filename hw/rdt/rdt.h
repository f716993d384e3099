// The door of the RDT room: discover, observe, converge.
//
// Masks are written through libpqos or the kernel's files (mask_writers.h), CPUs (see pqos.h), tasks (tasks.h) and
// groups (groups.h) through the kernel's files; reading back goes to the kernel's own files, so what is believed is
// what the kernel says and not what the library that wrote it remembers. Only the engine thread may call: libpqos is
// not transactional, and its resctrl lock uses SIGALRM.
//
// Untouched knobs are trusted between observations: converge() compares with what was last read, reads back what it
// wrote, and takes nothing on faith after a failure. The engine's drift timer calls observe() to see the rest.
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
  // Starts libpqos where the node has RDT. A node without it is not an error: discover() then says what is missing.
  // A wish that cannot be had is one.
  static Result<std::unique_ptr<Rdt>> start(const MountOptions& wish = {});
  virtual ~Rdt() = default;

  // CPUs, caches and capabilities as they are now; CPUs come and go, so call it again after hotplug.
  virtual Result<Node> discover() = 0;
  // Every group, read from the kernel. Empty on a node without RDT. `tasks`: those whose groups are looked for.
  virtual Result<Observed> observe(const std::set<Task>& tasks = {}) = 0;
  // The names of all groups but the root, which is cheaper to ask for than observe().
  virtual Result<std::set<std::string>> group_names() = 0;
  // Of these classes on these caches; nothing on a node that does not count. Those of `asked` get bandwidth counters
  // where these are assigned, and keep them (monitor.h).
  virtual Usages count_usage(const std::map<ClosId, std::set<CacheId>>& classes, const std::set<ClosId>& asked) = 0;
  // Whether nobody keeps the locks that converge() takes; waits a moment. Busy, with who has one.
  virtual Result<void> await_locks() = 0;
  // Writes what differs, takes bits away before handing them out, reads back. ErrorCode::Hardware names the first knob
  // that did not take its value ("class COS3 on cache 0 did not take ways 0x00f (found 0x7ff)"); then some knobs may
  // have been written and others not: converge to the setting before. NoClass and Busy: a group could not be made
  // (groups.h). Offline CPUs must not be named.
  virtual Result<void> converge(const Setting& wanted) = 0;
};

}  // namespace nrd::rdt
