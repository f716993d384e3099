// Onload's device nodes in /dev: whether they refer to the devices, and who may open them.
//
// A device gets a new number at every load of its module (/sys/class/NAME/NAME/dev). A node in /dev may be older and
// its number may belong to another device by now, so only character devices of the right number are changed. Nodes are
// opened with O_PATH only: a real open would take a reference to the module. Controller thread.
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

// "243:0"
std::optional<DeviceNumber> parse_device_number(std::string_view text, int base = 10);
// nullopt: the device does not exist.
Result<std::optional<DeviceNumber>> read_device_number(const std::string& root, const std::string& name);
// All of kDevices.
Result<std::vector<DeviceNode>> read_devices(const std::string& root);

// Sets owner and mode of the node and reads them back; mode 0 admits only root. Existing descriptors stay open.
// NotFound: the node or the device does not exist.
Result<void> set_access(const std::string& root, const std::string& name, const Access& access);

}  // namespace nrd::onload
