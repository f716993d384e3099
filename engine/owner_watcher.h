// Watches owner processes and calls back when one exits.
//
// A process exits without notice: it is killed, or nrd is not running at that moment. So each is held by a pidfd(2),
// which becomes readable at its exit, and identified by number, start and boot, so that after a restart of nrd or of
// the host a later process with that number is not mistaken for it.
//
// One thread of its own; all functions from any thread. A process without a descriptor is polled once a second.
#pragma once

#include <functional>
#include <memory>

#include "base/owner.h"
#include "base/result.h"

namespace nrd {

class OwnerWatcher {
 public:
  static Result<std::unique_ptr<OwnerWatcher>> start();
  virtual ~OwnerWatcher() = default;

  // A running process. BadRequest: there is none with that number.
  virtual Result<Owner> identify(pid_t pid) const = 0;
  // Calls `ended` on the watcher's thread once that process has exited, also if it already has. It must not block; if
  // it returns false it is called again in a second. `registrant` identifies the caller: each registrant watches an
  // owner once, and a duplicate watch is dropped, so a process with many allocations costs one descriptor.
  virtual void watch(const Owner& owner, const void* registrant, std::function<bool()> ended) = 0;
  // Ends the thread; no callback follows.
  virtual void stop() = 0;
};

}  // namespace nrd
