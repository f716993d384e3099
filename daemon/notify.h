// Status notifications for systemd (sd_notify(3)). No effect without NOTIFY_SOCKET.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/http/endpoints.h"

namespace nrd::daemon {

void notify_ready();
void notify_status(const std::string& line);
void notify_stopping();
void notify_alive();

// WatchdogSec= of the unit; nullopt without a watchdog.
std::optional<std::chrono::microseconds> watchdog_limit();

// Listening sockets from nrd.socket and similar units (LISTEN_FDS, LISTEN_FDNAMES); may be empty.
std::vector<http::PassedSocket> passed_sockets();

}  // namespace nrd::daemon
