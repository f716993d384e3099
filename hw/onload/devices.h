// The device nodes of Onload in /dev: whether they lead to the devices, and who may open them.
//
// Each device gets a new number at every load of its module (/sys/class/NAME/NAME/dev says which). A node in /dev may
// be older than that, and is then somebody else's; nothing is changed that is not a character device of the right
// number. A node that is looked at or changed is never opened: opening would count as a use of the module. Engine
// thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

inline constexpr std::array<const char*, 3> kDevices = {"onload", "onload_epoll", "sfc_char"};

// "243:0\n"
std::optional<DeviceNumber> parse_device_number(std::string_view text);
// nullopt: the device is not there.
Result<std::optional<DeviceNumber>> read_device_number(const std::string& root, const std::string& name);
// All of kDevices.
Result<std::vector<DeviceNode>> read_devices(const std::string& root);

// Gives the node this owner and mode and reads them back; {.mode = 0} closes it to all but root. What is open stays
// open. NotFound without node or device.
Result<void> set_access(const std::string& root, const std::string& name, const Access& access);

}  // namespace nrd::onload
