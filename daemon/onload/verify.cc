#include "daemon/onload/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "daemon/onload/control_plane.h"
#include "daemon/onload/step_errors.h"
#include "engine/onload/status.h"
#include "hw/onload/control_plane.h"
#include "hw/onload/devices.h"
#include "hw/onload/interfaces.h"
#include "hw/onload/module_state.h"
#include "hw/onload/stacks.h"

namespace nrd::daemon {
namespace {

using namespace onload;
using std::chrono::seconds;

constexpr seconds kInterfaceTimeout{10};
constexpr std::chrono::milliseconds kInterfaceLook{100};

Acted check_module(const TargetModule& wanted, const std::string& release) {
  const std::optional<Module> module = TRY(step("unreadable", read_module(kRoot, wanted.name)));
  if (!module) return failed("not_loaded", fmt::format("the module {} is not loaded", wanted.name));
  if (module->state != ModuleState::Live)
    return failed("not_live", fmt::format("the module {} is not live", wanted.name));
  if (module->build_id != wanted.build_id) {
    return failed("other_module", fmt::format("the module {} was loaded from an unexpected file", wanted.name),
                  fmt::format("{} instead of {}", module->build_id, wanted.build_id));
  }
  if (wanted.name == "onload" && !release.empty() && module->version != release) {
    return failed("other_version",
                  fmt::format("the module onload is of release {}, expected {}", module->version, release));
  }
  return {};
}

// libonload.so makes the same query when an application starts.
Acted check_interface(const std::string& release) {
  const std::optional<InterfaceVersion> listed = TRY(step("unreadable", read_interface_version(kRoot)));
  if (!listed) return failed("interface", "the module does not report its interface");
  if (!release.empty() && listed->version != release) {
    return failed("interface", fmt::format("the module reports release {}, expected {}", listed->version, release));
  }
  return {};
}

Acted check_devices() {
  const std::vector<DeviceNode> devices = TRY(step("unreadable", read_devices(kRoot)));
  const std::string wrong = wrong_device(devices);
  return wrong.empty() ? Acted() : failed("device", wrong);
}

Acted check_control_plane(const Target& target, const Clock& clock) {
  const std::optional<Module> module = TRY(step("unreadable", read_module(kRoot, "onload")));
  if (!module) return failed("not_loaded", "the module onload is not loaded");
  const std::optional<seconds> timeout = server_timeout(*module);
  if (!timeout) return {};

  const auto wanted = std::ranges::find(target.modules, "onload", &TargetModule::name);
  const auto path = wanted->parameters.find("cplane_server_path");
  const auto until = clock.steady() + *timeout;
  std::string found = fmt::format("no control plane server came up within {} s", timeout->count());
  for (;;) {
    const std::vector<ControlPlaneServer> servers = TRY(step("unreadable", read_servers(kRoot)));
    for (const ControlPlaneServer& server : servers) {
      if (path == wanted->parameters.end() || server.exe == path->second) return {};
      found = "the control plane server that runs is " + server.exe;
    }
    if (clock.steady() >= until) return failed("control_plane", found);
    std::this_thread::sleep_for(kInterfaceLook);
  }
}

std::string mapping(const InterfaceChanges& changes) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [from, to] : changes.renamed) add(fmt::format("{} was renamed to {}", from, to));
  for (const std::string& name : changes.lost) add(name + " disappeared");
  return text;
}

// udev renames interfaces some time after the driver is loaded.
Acted check_interfaces(const std::vector<NotedInterface>& noted, const Clock& clock) {
  std::vector<Interface> before;
  for (const auto& [pci, mac, name] : noted) before.push_back({.name = name, .pci = pci, .mac = mac});
  const auto until = clock.steady() + kInterfaceTimeout;
  while (!before.empty()) {
    const std::vector<Interface> after = TRY(step("unreadable", read_interfaces(kRoot, {})));
    const std::string changed = mapping(changes_between(before, after));
    if (changed.empty()) break;
    if (clock.steady() >= until)
      return failed("interface_changed", "network interfaces changed after the driver was reloaded: " + changed);
    std::this_thread::sleep_for(kInterfaceLook);
  }
  return {};
}

Acted check_library(const Expected& expected) {
  if (expected.library_fits.value_or(true)) return {};
  return failed("interface", fmt::format("libonload.so of version {} does not match the interface of the loaded module",
                                         expected.target.version));
}

Acted check_log(const std::vector<LogLine>& lines) {
  const auto bad = std::ranges::find_if(lines, is_error);
  if (bad == lines.end()) return {};
  return failed("kernel_error", "kernel log error: " + bad->text);
}

Acted check_all(const Expected& expected, const Clock& clock) {
  for (const TargetModule& module : expected.target.modules) {
    TRY(check_module(module, expected.release));
  }
  TRY(check_interface(expected.release));
  TRY(check_library(expected));
  TRY(check_interfaces(expected.before, clock));
  TRY(check_devices());
  TRY(check_log(expected.kernel));
  return check_control_plane(expected.target, clock);
}

}  // namespace

Acted verify_onload(const Expected& expected, const Clock& clock) {
  Acted checked = check_all(expected, clock);
  if (checked) return checked;
  for (const LogLine& line : expected.kernel) checked.error().kernel.push_back(line.text);
  return checked;
}

}  // namespace nrd::daemon
