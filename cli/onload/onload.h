// nrdctl onload: changes and shows Onload on a node. Follows long operations step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"

namespace nrd::cli {

struct OnloadRequest {
  std::string version;
  bool manages_sfc = false;
  std::vector<std::string> parameters;  // "onload.max_packets_per_stack=1024"
  std::string control_plane;            // arguments; empty: the default
  std::string users_policy;
  std::optional<uint64_t> drain_seconds;
  std::string on_failure;
};

Outcome<> show_onload(const Client& client, Output output);
Outcome<> show_onload_versions(const Client& client, Output output);
Outcome<> import_onload(const Client& client, Output output, const std::string& name, const std::string& source);
Outcome<> load_onload(const Client& client, Output output, const OnloadRequest& request);
Outcome<> unload_onload(const Client& client, Output output, const OnloadRequest& request);
Outcome<> roll_back_onload(const Client& client, Output output, std::optional<uint64_t> to);
Outcome<> freeze_onload(const Client& client, bool frozen, const std::string& reason);
// Checks `request.version`, or the last requested change if that is empty. kRefused if a check fails.
Outcome<> preflight_onload(const Client& client, Output output, const OnloadRequest& request);
Outcome<> drain_onload(const Client& client, Output output, const OnloadRequest& request);
Outcome<> undrain_onload(const Client& client, Output output);
Outcome<> cancel_onload(const Client& client, Output output, const std::string& id);
// `settings`: "NAME=VALUE" each.
Outcome<> set_onload_parameters(const Client& client, Output output, const std::string& module,
                                const std::vector<std::string>& settings, bool reload);
Outcome<> show_control_plane(const Client& client, Output output);
Outcome<> set_control_plane(const Client& client, Output output, const std::string& words);
Outcome<> restart_control_plane(const Client& client, Output output);
Outcome<> show_onload_users(const Client& client, Output output);

}  // namespace nrd::cli
