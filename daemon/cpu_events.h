// CPUs that come and go, as the kernel's uevents tell it: one datagram of netlink for each device that is added,
// removed, or set online or offline (Documentation/core-api/kobject.rst, "Uevents"):
//
//   online@/devices/system/cpu/cpu3\0ACTION=online\0DEVPATH=/devices/system/cpu/cpu3\0SUBSYSTEM=cpu\0SEQNUM=843\0
//
// The kernel sends it once its own handlers of hotplug have run, before the write to `online` returns. A message is
// only a reason to look; what is true is read from sysfs. Messages of processes are ignored: those of the kernel come
// from port 0, which no process can have.
//
// One thread of its own; take() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "base/cpu_set.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nrd::daemon {

// The CPU that a message says has come or gone; nullopt: it is about something else.
std::optional<CpuId> cpu_of_uevent(std::string_view message);

class CpuEvents {
 public:
  // From now on no event is missed. Unsupported: no such socket is to be had here.
  static Result<std::unique_ptr<CpuEvents>> open();
  CpuEvents(UniqueFd socket, UniqueFd wake) : socket_(std::move(socket)), wake_(std::move(wake)) {}
  ~CpuEvents() { stop(); }

  // Calls `changed` on the thread of this whenever take() has something to give. It must not block.
  void watch(std::function<void()> changed);
  // No call of `changed` after this.
  void stop();
  // The CPUs that came or went since it was last asked, up to this moment; all there can be, if the kernel had to drop
  // messages. Never waits.
  CpuSet take();

 private:
  void run() noexcept;
  void receive();
  bool note_message();

  const UniqueFd socket_;
  const UniqueFd wake_;  // readable: stop
  std::function<void()> changed_;
  std::thread thread_;

  std::mutex lock_;
  CpuSet pending_;       // guarded by lock_
  bool is_open_ = true;  // guarded by lock_
};

}  // namespace nrd::daemon
