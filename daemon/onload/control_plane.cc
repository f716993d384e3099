#include "daemon/onload/control_plane.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <thread>

#include "base/number.h"
#include "daemon/onload/step_errors.h"
#include "hw/onload/control_plane.h"
#include "hw/onload/kernel_file.h"
#include "hw/onload/module_state.h"
#include "hw/onload/parameter_text.h"
#include "hw/onload/stacks.h"
#include "hw/onload/stop_process.h"
#include "hw/onload/users.h"

namespace nrd::daemon {
namespace {

using namespace onload;
using std::chrono::seconds;
using Servers = std::vector<ControlPlaneServer>;

constexpr const char* kModule = "onload";
constexpr const char* kSpawns = "cplane_spawn_server";
constexpr const char* kServerPath = "cplane_server_path";
constexpr std::array kCommandLine = {"cplane_server_path", "cplane_server_params", "cplane_server_uid",
                                     "cplane_server_gid"};
constexpr seconds kEndTimeout{5};
constexpr seconds kUsualTimeout{10};  // the module's default
constexpr seconds kMaxTimeout{30};
constexpr std::chrono::milliseconds kLook{50};

std::string parameter_of(const Module& module, const std::string& name) {
  const auto found = module.parameters.find(name);
  return found == module.parameters.end() ? "" : found->second.value.value_or("");
}

Acted write(const std::string& root, const std::string& parameter, const std::string& value) {
  return step("parameter", write_parameter(root, kModule, parameter, value));
}

bool contains(const Servers& servers, const ControlPlaneServer& server) {
  return std::ranges::find(servers, server.process, &ControlPlaneServer::process) != servers.end();
}

// A new server runs that was not in `before`, and no network namespace has two.
bool is_replaced(const Servers& before, const Servers& now) {
  std::set<uint64_t> served;
  for (const ControlPlaneServer& server : now) served.insert(server.net_namespace);
  const auto is_new = [&before](const ControlPlaneServer& server) { return !contains(before, server); };
  return served.size() == now.size() && std::ranges::any_of(now, is_new);
}

// The module kept its server, since a user without a stack needs it.
bool is_kept(const Servers& before, const Servers& now) {
  return !before.empty() && std::ranges::all_of(before, [&](const auto& server) { return contains(now, server); });
}

// After a change that makes the module start a server.
Acted await_server(const std::string& root, const Servers& before, const Clock& clock) {
  const std::optional<Module> module = TRY(step("unreadable", read_module(root, kModule)));
  const std::vector<Stack> stacks = TRY(step("unreadable", read_stacks(root)));
  const std::optional<seconds> timeout = module ? server_timeout(*module) : std::nullopt;
  // While stacks exist, the module applies the change to the next server only.
  if (!timeout || !stacks.empty()) return {};
  const auto until = clock.steady() + *timeout;
  for (;;) {
    const Servers now = TRY(step("control_plane", read_servers(root)));
    if (is_replaced(before, now)) return {};
    if (clock.steady() < until) {
      std::this_thread::sleep_for(kLook);
      continue;
    }
    if (is_kept(before, now)) return {};
    const std::string time = fmt::format("{} s", timeout->count());
    return failed("control_plane", "no control plane server came up within " + time);
  }
}

// The module restarts a stopped server only when its command line changes. Change it to another name of the same file
// while spawning is off, and back once it is on: one change starts one server.
Acted start_server(const std::string& root, const std::string& yes, const Clock& clock) {
  TRY(stop_spawning(root));
  const Servers servers = TRY(step("control_plane", read_servers(root)));
  const std::optional<Module> module = TRY(step("unreadable", read_module(root, kModule)));
  const bool is_to_come = servers.empty() && module && module->parameters.contains(kServerPath);
  if (!is_to_come) return write(root, kSpawns, yes);
  const std::string path = parameter_of(*module, kServerPath);
  TRY(write(root, kServerPath, "/" + path));
  TRY(write(root, kSpawns, yes));
  TRY(write(root, kServerPath, path));
  return await_server(root, servers, clock);
}

}  // namespace

std::optional<seconds> server_timeout(const Module& module) {
  const std::string spawns = parameter_of(module, kSpawns);
  if (spawns.empty() || !says_same("Y", spawns)) return std::nullopt;
  if (parameter_of(module, "cplane_server_grace_timeout") == "0") return std::nullopt;
  const auto listed = parse_number<int64_t>(parameter_of(module, "cplane_init_timeout"));
  return listed && *listed > 0 ? std::min(seconds(*listed), kMaxTimeout) : kUsualTimeout;
}

Acted stop_spawning(const std::string& root) {
  const Result<void> set = write_parameter(root, kModule, kSpawns, "N");
  if (!set && set.error().code != ErrorCode::NotFound) return failed("parameter", set.error());
  return {};
}

Acted stop_servers(const std::string& root, const std::vector<User>& services) {
  const auto end = [](const ProcessId& process, const std::string& exe) {
    return step("control_plane", stop_process(process, exe, kEndTimeout));
  };
  const Servers servers = TRY(step("control_plane", read_servers(root)));
  for (const ControlPlaneServer& server : servers) {
    TRY(end(server.process, server.exe));
  }
  for (const User& service : services) {
    if (name_in(service.exe) != kShrubName) continue;
    TRY(end(service.process, service.exe));
  }
  return {};
}

Acted set_onload_parameter(const std::string& root, const std::string& parameter, const std::string& value,
                           const Clock& clock) {
  if (parameter == kSpawns && says_same(value, "Y")) return start_server(root, value, clock);
  if (std::ranges::find(kCommandLine, parameter) == kCommandLine.end()) return write(root, parameter, value);
  const Servers before = TRY(step("control_plane", read_servers(root)));
  TRY(write(root, parameter, value));
  return await_server(root, before, clock);
}

}  // namespace nrd::daemon
