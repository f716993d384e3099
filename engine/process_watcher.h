// Processes to which something belongs, and what is to be done when one of them ends.
//
// A process ends without telling anybody: it is killed, or nrd is not running at that moment. So each is held by a
// pidfd(2), which the kernel makes readable at its end, and is known by number, start and boot, so that after a restart
// of nrd or of the host a later process of that number is not taken for it.
//
// One thread of its own; all functions from any thread. Where no descriptor is to be had, it looks once a second.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "store/owner.h"

namespace nrd {

class ProcessWatcher {
 public:
  static Result<std::unique_ptr<ProcessWatcher>> start();
  virtual ~ProcessWatcher() = default;

  // A process that runs now. BadRequest: there is none of that number.
  virtual Result<store::Owner> identify(pid_t pid) const = 0;
  // Calls `ended` on the thread of this once that process has ended, also if it had before. It must not block. False
  // from it: it could not be done, and is to be tried again in a second. `house` is whose it is to know what that
  // process has: it watches an owner once, and a second watch of one that goes on is dropped. So a process that takes
  // and gives back all day costs one descriptor.
  virtual void watch(const store::Owner& owner, const void* house, std::function<bool()> ended) = 0;
  // Ends the thread: nothing is called from then on.
  virtual void stop() = 0;
};

}  // namespace nrd
