// The two settings of a network interface: whether Onload may accelerate it, and whether it is registered with Onload
// through AF_XDP, for cards of other vendors than Solarflare.
//
// Both are written to sysfs and read back. Controller thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

inline std::string interface_path(const std::string& root, const std::string& interface) {
  return root + "/sys/class/net/" + interface;
}

// 1 to 15 bytes without spaces, "/" and ":", and not "." or "..".
bool is_interface_name(std::string_view name);

// PCI vendor 0x1924.
bool is_solarflare(const std::string& root, const std::string& interface);
// nullopt: the interface has no such setting, or an unknown value.
std::optional<bool> read_acceleration(const std::string& root, const std::string& interface);
bool is_registered(const std::string& root, const std::string& interface);

// NotFound: no such interface, or it has no such setting.
Result<void> write_acceleration(const std::string& root, const std::string& interface, SwitchState to);
// Registers with all queues that the driver offers. Busy: already registered; or not unregistered, because some
// releases keep an interface until the module is removed.
Result<void> write_registration(const std::string& root, const std::string& interface, SwitchState to);

}  // namespace nrd::onload
