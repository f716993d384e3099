// Telling systemd how we are (sd_notify(3)). All of it does nothing when nobody asked (no NOTIFY_SOCKET).
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace nrd::daemon {

void notify_ready(const std::string& status);
void notify_stopping();
void notify_alive();

// WatchdogSec= of the unit; nullopt without a watchdog.
std::optional<std::chrono::microseconds> watchdog_limit();

}  // namespace nrd::daemon
