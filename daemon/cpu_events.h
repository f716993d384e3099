// CPU hotplug events from the kernel's uevents: one netlink datagram for each device that is added, removed, or set
// online or offline (Documentation/core-api/kobject.rst, "Uevents"):
//
//   online@/devices/system/cpu/cpu3\0ACTION=online\0DEVPATH=/devices/system/cpu/cpu3\0SUBSYSTEM=cpu\0SEQNUM=843\0
//
// The kernel sends it after its own hotplug handlers, before the write to `online` returns. A message only triggers a
// refresh; the state is read from sysfs. Messages from other processes are ignored: the kernel's have port 0, which no
// process can use.
//
// Runs its own thread; take() from any thread.
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

// The CPU whose state a message reports; nullopt: the message is about something else.
std::optional<CpuId> cpu_of_uevent(std::string_view message);

class CpuEvents {
 public:
  // Starts receiving; later events are not missed. Unsupported: the socket is not available here.
  static Result<std::unique_ptr<CpuEvents>> open();
  CpuEvents(UniqueFd socket, UniqueFd wake) : socket_(std::move(socket)), wake_(std::move(wake)) {}
  ~CpuEvents() { stop(); }

  // Calls `changed` on this object's thread when take() has news. It must not block.
  void watch(std::function<void()> changed);
  // `changed` is not called after this returns.
  void stop();
  // The CPUs that changed since the last call; all possible CPUs if the kernel dropped messages. Never blocks.
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
