// What the kernel says about a loaded module, below /sys/module/NAME (Documentation/ABI/testing/sysfs-module), and the
// parameters that can be changed while it is loaded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Modules that belong to Onload, those of releases long gone among them.
bool is_onload_module(std::string_view name);

// nullopt: it is not there.
Result<std::optional<Module>> read_module(const std::string& root, const std::string& name);

// Sets a parameter of a loaded module and reads it back. NotFound without such a module or parameter, Unsupported if it
// can be set only when the module is loaded, BadRequest if the value is none.
Result<void> write_parameter(const std::string& root, const std::string& module, const std::string& parameter,
                             const std::string& value);

}  // namespace nrd::onload
