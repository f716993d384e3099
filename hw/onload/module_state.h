// The state of a loaded module, from /sys/module/NAME (Documentation/ABI/testing/sysfs-module), and changes of
// parameters that are writable while it is loaded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Modules of Onload, including those of old releases.
bool is_onload_module(std::string_view name);

// nullopt: no such module.
Result<std::optional<Module>> read_module(const std::string& root, const std::string& name);

// Sets a parameter of a loaded module and reads it back. NotFound: no such module or parameter. Unsupported: settable
// only while loading the module. BadRequest: invalid value.
Result<void> write_parameter(const std::string& root, const std::string& module, const std::string& parameter,
                             const std::string& value);

}  // namespace nrd::onload
