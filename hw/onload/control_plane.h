// The control plane servers of Onload: one process for each network namespace with stacks, started by the kernel, which
// tells their pids in /proc/driver/onload/cp_server_pids. They hold /dev/onload open and so keep the module in place.
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

inline constexpr std::string_view kServerName = "onload_cp_server";
// Shares buffers of newer cards between processes. The kernel starts it as well, but has no list of them.
inline constexpr std::string_view kShrubName = "shrub_controller";

// One pid a line. nullopt: the text was cut off, is garbage, or names a process that cannot be seen from here (0).
std::optional<std::vector<pid_t>> parse_pids(std::string_view text);
// The path of a program as /proc tells it, without the mark of one that was deleted since.
std::string program_of(std::string exe);

// None without the module. One that ends while it is read is left out.
Result<std::vector<pid_t>> read_server_pids(const std::string& root);
Result<std::vector<ControlPlaneServer>> read_servers(const std::string& root);

}  // namespace nrd::onload
