// nrdctl onload: changes and shows Onload on a node. Follows long operations step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"

namespace nrd::cli {

// What the command line sets.
struct OnloadArguments {
  std::string version;
  bool manages_sfc = false;
  std::vector<std::string> parameters;  // "onload.max_packets_per_stack=1024"
  std::string control_plane;            // arguments; empty: the default
  std::string users_policy;
  std::optional<uint64_t> drain_seconds;
  std::string on_failure;
  std::string source;     // of a version to import
  std::string operation;  // its id
  std::optional<uint64_t> generation;
  std::string reason;
  std::string module;
  std::vector<std::string> settings;  // of `module`: "NAME=VALUE" each
  bool reload = false;
  // Each is empty, or an interface and "on" or "off".
  std::vector<std::string> accelerate;
  std::vector<std::string> afxdp;
};

using OnloadCommand = OrStop<> (*)(const Client& client, Output output, const OnloadArguments& a);

// The option or argument for a member of a request: "/parameters/sfc_char/phys_mode_gid" is "--param
// sfc_char.phys_mode_gid".
std::string onload_option_of(const std::string& pointer);

OrStop<> show_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> show_onload_versions(const Client& client, Output output, const OnloadArguments& a);
OrStop<> import_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> load_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> unload_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> roll_back_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> freeze_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> thaw_onload(const Client& client, Output output, const OnloadArguments& a);
// Checks `version`, or the last requested change if that is empty. kRefused if a check fails.
OrStop<> preflight_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> drain_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> undrain_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> cancel_onload(const Client& client, Output output, const OnloadArguments& a);
OrStop<> set_onload_parameters(const Client& client, Output output, const OnloadArguments& a);
OrStop<> show_control_plane(const Client& client, Output output, const OnloadArguments& a);
OrStop<> set_control_plane(const Client& client, Output output, const OnloadArguments& a);
OrStop<> restart_control_plane(const Client& client, Output output, const OnloadArguments& a);
OrStop<> show_onload_users(const Client& client, Output output, const OnloadArguments& a);
// Applies the given settings of interfaces, then lists all of them.
OrStop<> onload_interfaces(const Client& client, Output output, const OnloadArguments& a);

// "-K -s" -> {"-K", "-s"}
std::vector<std::string> words_of(const std::string& text, char separator);

}  // namespace nrd::cli
