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

int show_onload(const Client& client, Output output);
int show_onload_versions(const Client& client, Output output);
int import_onload(const Client& client, Output output, const std::string& name, const std::string& source);
int load_onload(const Client& client, Output output, const OnloadRequest& request);
int unload_onload(const Client& client, Output output, const OnloadRequest& request);
int roll_back_onload(const Client& client, Output output, std::optional<uint64_t> to);
int freeze_onload(const Client& client, bool frozen, const std::string& reason);
// Checks `request.version`, or the last requested change if that is empty. kRefused if a check fails.
int preflight_onload(const Client& client, Output output, const OnloadRequest& request);
int drain_onload(const Client& client, Output output, const OnloadRequest& request);
int undrain_onload(const Client& client, Output output);
int cancel_onload(const Client& client, Output output, const std::string& id);
// `settings`: "NAME=VALUE" each.
int set_onload_parameters(const Client& client, Output output, const std::string& module,
                          const std::vector<std::string>& settings, bool reload);
int show_control_plane(const Client& client, Output output);
int set_control_plane(const Client& client, Output output, const std::string& words);
int restart_control_plane(const Client& client, Output output);
int show_onload_users(const Client& client, Output output);

}  // namespace nrd::cli
