// Onload stacks from /proc/driver/onload: `stacks_ul` are those of running applications, `stacks_k` are orphaned stacks
// that the kernel finishes.
//
//   3: 4711 1000 12 0 0 ...
//   id, PID of the creator (0: in an inaccessible PID namespace), uid, and a varying number of counters
//
// Controller thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// nullopt: malformed.
std::optional<InterfaceVersion> parse_interface_version(std::string_view text);
std::optional<std::vector<Stack>> parse_stacks(std::string_view text, bool orphans);

// nullopt: the module is not loaded.
Result<std::optional<InterfaceVersion>> read_interface_version(const std::string& root);
// Sorted by id, without duplicates. Empty if the module is not loaded.
Result<std::vector<Stack>> read_stacks(const std::string& root);

}  // namespace nrd::onload
