// Writing one value to a file of sysfs or procfs.
#pragma once

#include <optional>
#include <string>

namespace nrd::cpuset {

// The errno of a write that the kernel refused; nullopt: it accepted the value. It may still have another one.
std::optional<int> write_knob(const std::string& path, const std::string& value);

}  // namespace nrd::cpuset
