#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

#include <cstdlib>

namespace nrd::daemon {

void notify_ready() { ::sd_notify(0, "READY=1"); }

void notify_status(const std::string& line) { ::sd_notify(0, ("STATUS=" + line).c_str()); }

void notify_stopping() { ::sd_notify(0, "STOPPING=1\nSTATUS=stopping; workloads stay on the hardware"); }

void notify_alive() { ::sd_notify(0, "WATCHDOG=1"); }

std::optional<std::chrono::microseconds> watchdog_limit() {
  uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

std::vector<http::PassedSocket> passed_sockets() {
  std::vector<http::PassedSocket> sockets;
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &names);  // sets close-on-exec and hides the variables from children
  for (int i = 0; i < count; ++i) {
    sockets.push_back({.fd = UniqueFd(SD_LISTEN_FDS_START + i), .name = names[i]});
    std::free(names[i]);
  }
  std::free(static_cast<void*>(names));
  return sockets;
}

}  // namespace nrd::daemon
