// Stacks of Onload, as /proc/driver/onload tells them: `stacks_ul` are those of applications that live, `stacks_k`
// those that the kernel finishes after their applications.
//
//   3: 4711 1000 12 0 0 ...
//   id, pid of the creator as seen from here (0: not to be seen), uid, and counters; how many of those varies
//
// Engine thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Texts of files; nullopt for what the kernel would not say.
std::optional<InterfaceVersion> parse_interface_version(std::string_view text);
std::optional<std::vector<Stack>> parse_stacks(std::string_view text, bool orphans);

// nullopt: the module is not loaded.
Result<std::optional<InterfaceVersion>> read_interface_version(const std::string& root);
// By id, each once. None without the module.
Result<std::vector<Stack>> read_stacks(const std::string& root);

}  // namespace nrd::onload
