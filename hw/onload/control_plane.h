// Onload's control plane servers: one process for each network namespace with stacks. The kernel starts them and lists
// their PIDs in /proc/driver/onload/cp_server_pids. They keep /dev/onload open, and so a reference to the module.
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

inline constexpr std::string_view kServerName = "onload_cp_server";
// Shares buffers of newer cards between processes. The kernel starts these too, but does not list them.
inline constexpr std::string_view kShrubName = "shrub_controller";

// One PID per line. nullopt: truncated, malformed, or a process in an inaccessible PID namespace (0).
std::optional<std::vector<pid_t>> parse_pids(std::string_view text);
// The program path in /proc/PID/exe, without " (deleted)".
std::string program_of(std::string exe);

// Empty if the module is not loaded. Servers that exit meanwhile are omitted.
Result<std::vector<pid_t>> read_server_pids(const std::string& root);
Result<std::vector<ControlPlaneServer>> read_servers(const std::string& root);

}  // namespace nrd::onload
