// libpqos's home (OS interface, version 4.5). No other file includes pqos.h.
//
// What it does that matters here: the first start makes the groups COS1..COSn-1, and so takes every class the node has;
// it fails if somebody else's group holds one. Each call takes a lock on /sys/fs/resctrl and gives up after 100 ms by
// SIGALRM, so that signal must reach the calling thread. It knows the CPUs that were online when it started.
#pragma once

#include <memory>

#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "base/way_mask.h"

namespace nrd::rdt {

class Pqos {
 public:
  static Result<std::unique_ptr<Pqos>> start();
  ~Pqos();
  Pqos(const Pqos&) = delete;
  Pqos& operator=(const Pqos&) = delete;

  Result<void> set_ways(ClosId clos, CacheId cache, WayMask ways);
  Result<void> set_class(CpuId cpu, ClosId clos);

 private:
  Pqos() = default;

  // While starting, libpqos calls it an error that the groups it is about to make are not there yet.
  log::Priority error_priority_ = log::Priority::Debug;
  bool is_running_ = false;
};

}  // namespace nrd::rdt
