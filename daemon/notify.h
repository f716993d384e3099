// Telling systemd how we are (sd_notify(3)). All of it does nothing when nobody asked (no NOTIFY_SOCKET).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/http/endpoints.h"

namespace nrd::daemon {

void notify_ready(const std::string& status);
void notify_stopping();
void notify_alive();

// WatchdogSec= of the unit; nullopt without a watchdog.
std::optional<std::chrono::microseconds> watchdog_limit();

// Listening sockets of nrd.socket and others like it (LISTEN_FDS, LISTEN_FDNAMES); empty without any.
std::vector<http::PassedSocket> passed_sockets();

}  // namespace nrd::daemon
