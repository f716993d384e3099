// libpqos's home (OS interface, version 4.5). No other file includes pqos.h.
//
// What it does that matters here:
// - The first start mounts resctrl if nobody has, and makes the groups COS1..COSn-1, so takes every class there is. If
//   somebody else's group holds one, it makes the others and fails ("busy").
// - Each call locks /run/lock/libpqos without a limit, and /sys/fs/resctrl with one: a SIGALRM after 100 ms ends the
//   wait if it reaches the calling thread. The handler is libpqos's own and stays. The signal goes to the process, and
//   the kernel offers it to the main thread first, so every other thread has to block it; this one lets it through.
// - It knows the CPUs that were online when it started, and so the caches that had some. A line that it writes names
// all
//   of these, and the kernel refuses it if one has no CPU online any more.
// - It moves CPUs one by one, and looks for each in the groups of all classes, twice where the node counts. So CPUs are
//   moved through the kernel's files, all of a class at once (add_cpus() of resctrl.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "base/way_mask.h"
#include "hw/rdt/class_writer.h"

namespace nrd::rdt {

class Pqos final : public ClassWriter {
 public:
  static Result<std::unique_ptr<Pqos>> start();
  ~Pqos() override;
  Pqos(const Pqos&) = delete;
  Pqos& operator=(const Pqos&) = delete;

  Result<void> set_ways(const Level& level, const WaysWrite& write) override;

 private:
  struct Chatter {
    // While starting, libpqos calls it an error that the groups it is about to make are not there yet.
    log::Priority error_priority = log::Priority::Debug;
    std::string last_error;
  };

  Pqos() = default;
  static void hear(void* chatter, size_t size, const char* message);
  Failure failed(const std::string& call, int retval, int error) const;

  Chatter chatter_;
  bool is_running_ = false;
};

}  // namespace nrd::rdt
