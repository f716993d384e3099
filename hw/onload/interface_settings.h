// The two settings of a network interface: whether Onload may accelerate it, and whether it is registered with Onload
// through AF_XDP, for cards of other vendors than Solarflare.
//
// Both are written to sysfs and read back. Engine thread.
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

// 1 to 15 bytes without spaces, "/" and ":", and not "." or "..".
bool is_interface_name(std::string_view name);

// PCI vendor 0x1924.
bool is_solarflare(const std::string& root, const std::string& interface);
// nullopt: the interface has no such setting, or an unknown value.
std::optional<Acceleration> read_acceleration(const std::string& root, const std::string& interface);
bool is_registered(const std::string& root, const std::string& interface);

// NotFound: no such interface, or it has no such setting.
Result<void> write_acceleration(const std::string& root, const std::string& interface, Acceleration acceleration);
// `queues` 0: all that the driver offers. Busy: already registered.
Result<void> register_afxdp(const std::string& root, const std::string& interface, uint32_t queues);
// Busy: some releases keep an interface until the module is removed.
Result<void> unregister_afxdp(const std::string& root, const std::string& interface);

}  // namespace nrd::onload
