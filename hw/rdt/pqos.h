// libpqos's home (OS interface, version 4.5). No other file includes pqos.h.
//
// What it does that matters here:
// - A start mounts resctrl if it is not mounted, and makes the groups COS1..COSn-1, so takes every class there is. If
//   another group holds one, it makes the others and fails ("busy"). Once it runs it needs the group it writes to, and
//   no other, so start() removes those that libpqos made.
// - Each call locks /run/lock/libpqos without a limit, so it is locked here first, within one (LibraryLock); and
//   /sys/fs/resctrl with one: a SIGALRM after 100 ms ends the wait if it reaches the calling thread. The handler is
//   libpqos's own and stays. The signal goes to the process, and the kernel offers it to the main thread first, so
//   every other thread has to block it; this one lets it through.
// - It knows the CPUs that were online when it started, and so the caches that had some. On Intel it takes the id of
//   the socket for that of its L3 cache. A line that it writes names all caches it knows, and the kernel refuses it if
//   one of them does not exist or has no CPU online any more; hence view().
// - It moves CPUs one by one, and looks for each in the groups of all classes, twice where the node counts. So CPUs are
//   moved through the kernel's files, all of a class at once (add_cpus() of resctrl.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "hw/rdt/locks.h"
#include "hw/rdt/mask_writer.h"

namespace nrd::rdt {

class Pqos final : public MaskWriter {
 public:
  // Failed or not, no group is left that was not there before.
  static Result<std::unique_ptr<Pqos>> start();
  ~Pqos() override;
  Pqos(const Pqos&) = delete;
  Pqos& operator=(const Pqos&) = delete;

  Result<void> set_ways(const Level& level, const WaysWrite& write) override;
  // Whether its lock is free; waits a moment. Busy, with who has it.
  Result<void> await_lock() const {
    return lock_.take().map([this] { lock_.let_go(); });
  }
  // As it was when libpqos started.
  const CacheView& view() const { return view_; }

 private:
  struct LogCapture {
    // While starting, libpqos calls it an error that the groups it is about to make are not there yet.
    log::Priority error_priority = log::Priority::Debug;
    std::string last_error;
  };

  explicit Pqos(LibraryLock lock) : lock_(std::move(lock)) {}
  static void capture(void* log, size_t size, const char* message);
  Result<void> init();
  Failure failed(const std::string& call, int retval, int error) const;

  const LibraryLock lock_;
  LogCapture chatter_;
  bool is_running_ = false;
  CacheView view_;
};

}  // namespace nrd::rdt
