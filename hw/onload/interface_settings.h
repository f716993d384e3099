// The two things that can be set on a network interface: whether Onload may accelerate it, and whether it is registered
// with Onload through AF_XDP, which serves cards that are not Solarflare's.
//
// Both are lines to sysfs, ended as the module wants them, and both are read back. Engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::onload {

inline std::string interface_path(const std::string& root, const std::string& interface) {
  return root + "/sys/class/net/" + interface;
}

enum class Acceleration { Off, On };

// What an interface may be called: 1 to 15 bytes without blanks, "/" and ":", and not "." or "..".
bool is_interface_name(std::string_view name);

// PCI vendor 0x1924.
bool is_solarflare(const std::string& root, const std::string& interface);
// nullopt: it has no such switch, or one that says something else.
std::optional<Acceleration> read_acceleration(const std::string& root, const std::string& interface);
bool is_registered(const std::string& root, const std::string& interface);

// NotFound without the interface or the switch.
Result<void> write_acceleration(const std::string& root, const std::string& interface, Acceleration wanted);
// `queues` 0: as many as the driver offers. Busy if it is registered already.
Result<void> register_afxdp(const std::string& root, const std::string& interface, uint32_t queues);
// Some releases never let go of an interface; then it is Busy, and goes with the module only.
Result<void> unregister_afxdp(const std::string& root, const std::string& interface);

}  // namespace nrd::onload
