// The only use of libpqos (OS interface, version 4.5). No other file includes pqos.h.
//
// Relevant behaviour of libpqos:
// - At start it mounts resctrl if it is not mounted, and creates the groups COS1..COSn-1, so it uses every class. If
//   another group holds one, it creates the others and fails ("busy"). Once it runs it needs only the group it writes
//   to, so start() removes the groups that libpqos created.
// - Each call locks /run/lock/libpqos without a limit, so nrd locks it first, within one (LibraryLock); and
//   /sys/fs/resctrl with a limit: a SIGALRM after 100 ms ends the wait if it reaches the calling thread. The handler is
//   libpqos's own and stays. The signal goes to the process, and the kernel prefers the main thread, so every other
//   thread has to block it; this one unblocks it.
// - It knows the CPUs that were online when it started, and the caches they had. On Intel it uses the socket id as the
//   L3 cache id. A line that it writes names all caches it knows, and the kernel refuses the line if one of them does
//   not exist or has no online CPU. view() is what it knows, for the caller to compare.
// - It moves CPUs one by one, and searches for each in the groups of all classes. So nrd moves CPUs through the
//   kernel's files, all CPUs of a class at once (add_cpus() of resctrl.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/result.h"
#include "hw/rdt/locks.h"
#include "hw/rdt/write_order.h"

namespace nrd::rdt {

// Caches and classes as libpqos or resctrl sees them.
struct CacheView {
  struct Level {
    std::set<uint32_t> ids;
    unsigned ways = 0;
    bool cdp = false;
    friend bool operator==(const Level&, const Level&) = default;
  };
  std::map<unsigned, Level, std::greater<>> levels;  // those that are allocated
  unsigned classes = 0;
  friend bool operator==(const CacheView&, const CacheView&) = default;
};

class Pqos {
 public:
  // Whether it fails or not, only groups that existed before remain.
  static Result<std::unique_ptr<Pqos>> start();
  ~Pqos();
  Pqos(const Pqos&) = delete;
  Pqos& operator=(const Pqos&) = delete;

  Result<void> set_ways(const WaysWrite& write);
  // Checks that its lock is free; waits briefly. Busy names the holder.
  Result<void> await_lock() const {
    return lock_.take().map([this] { lock_.let_go(); });
  }
  // The view when libpqos started.
  const CacheView& view() const { return view_; }

 private:
  struct LogCapture {
    // While starting, libpqos logs errors about the groups that it is about to create.
    log::Priority error_priority = log::Priority::Debug;
    std::string last_error;
  };

  explicit Pqos(LibraryLock lock) : lock_(std::move(lock)) {}
  static void capture(void* log, size_t size, const char* message);
  Result<void> init();
  template <typename Setting>
  Result<void> set_level(const WaysWrite& write, const char* name, int (*call)(unsigned, unsigned, const Setting*));
  Failure failed(const std::string& call, int retval, int error) const;

  const LibraryLock lock_;
  LogCapture log_capture_;
  bool is_running_ = false;
  CacheView view_;
};

}  // namespace nrd::rdt
