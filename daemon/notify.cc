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

std::vector<UniqueFd> passed_sockets() {
  std::vector<UniqueFd> sockets;
  const int count = ::sd_listen_fds(1);  // sets close-on-exec; children are told nothing
  for (int i = 0; i < count; ++i) sockets.emplace_back(SD_LISTEN_FDS_START + i);
  return sockets;
}

}  // namespace nrd::daemon
