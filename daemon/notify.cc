#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

namespace nrd::daemon {

void notify_ready(const std::string& status) { ::sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()); }

void notify_stopping() { ::sd_notify(0, "STOPPING=1\nSTATUS=stopping; workloads stay on the hardware"); }

void notify_alive() { ::sd_notify(0, "WATCHDOG=1"); }

std::optional<std::chrono::microseconds> watchdog_limit() {
  uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

}  // namespace nrd::daemon
