// Onload as plain values, with the kernel's rules for modules, and faults by number.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/interface_spec.h"
#include "engine/onload/operation_runner.h"

namespace nrd::onload {

// Modules of release `number`, as those of 8.1 and later: sfc_char needs sfc_resource, onload needs both.
inline Target a_release(const std::string& name, Sfc sfc = Sfc::External) {
  Target target{.state = State::Loaded, .version = name, .sfc = sfc};
  if (sfc == Sfc::Managed) target.modules.push_back({"sfc", name + "-s", {}});
  target.modules.push_back({"sfc_resource", name + "-r", {}});
  target.modules.push_back({"sfc_char", name + "-c", {}});
  target.modules.push_back({"onload", name + "-o", {{"cplane_server_params", "-K"}, {"cplane_spawn_server", "Y"}}});
  return target;
}
inline Target nothing(Sfc sfc = Sfc::External) { return {.state = State::Unloaded, .sfc = sfc}; }

class Turning final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override { return std::chrono::system_clock::time_point(passed_); }
  std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(passed_);
  }
  void pass(std::chrono::milliseconds time) { passed_ += time; }

 private:
  std::chrono::milliseconds passed_{0};
};

class FakeNode final : public Host {
 public:
  ObservedState observed;
  std::vector<User> users;
  bool device_access_is_open = true;
  bool users_obey_term = false;
  int fails_at = 0;     // the n-th act fails; 0: none does
  int fails_until = 0;  // and all after it up to this one
  std::string cause = "broken";
  int acts = 0;
  std::vector<std::string> done;

  std::atomic<bool> is_unreadable{false};

  Result<ObservedState> observe() override {
    if (is_unreadable) return fail(ErrorCode::Hardware, "the node cannot be read");
    return observed;
  }
  InUse find_users() override { return {.users = users}; }
  // Every release is installed, but for those in `missing`.
  Result<Target> target_of(const Spec& spec) override {
    if (missing.contains(spec.version)) return fail_at(ErrorCode::BadRequest, "/version", "is not installed");
    Target target = spec.state == State::Loaded ? a_release(spec.version, spec.sfc) : nothing(spec.sfc);
    target.state = spec.state;
    target.users = spec.users;
    target.drain = spec.drain;
    target.devices = configured;
    if (spec.state == State::Unmanaged) target.device_access = DeviceAccess::Unchanged;
    return target;
  }
  std::set<std::string> missing;
  Access configured{.uid = 0, .gid = 0, .mode = 0666};
  std::vector<Check> examine(const Spec& spec) override {
    if (!missing.contains(spec.version)) return {{"installed", std::nullopt, {}}};
    return {{"installed", target_of(spec).error(), {}}};
  }

  Acted close_device_access() override {
    return act("close", [this] { set_access({.uid = 0, .gid = 0, .mode = 0}); });
  }
  Acted open_device_access() override {
    return act("open", [this] { set_access(configured); });
  }
  Acted end_user(const ProcessId&, Force force) override {
    return act(force == Force::Term ? "term" : "kill", [&] {
      if (force == Force::Kill || users_obey_term) users.clear();
    });
  }
  Acted stop_control_plane() override {
    return act("stop", [this] {
      observed.servers.clear();
      observed.modules.at("onload").parameters.at("cplane_spawn_server").value = "N";
    });
  }
  Acted remove(const std::string& module) override {
    if (module == "onload" && (!users.empty() || !observed.servers.empty())) return step_error("in_use");
    if (module == "sfc_char" && observed.modules.contains("onload")) return step_error("in_use");
    if (module == "sfc_resource" && observed.modules.contains("sfc_char")) return step_error("in_use");
    return act("-" + module, [&] {
      observed.modules.erase(module);
      if (module == "sfc_resource") forget_settings();
      if (module == "sfc")
        std::erase_if(observed.interfaces, [](const Interface& one) { return one.driver_module == "sfc"; });
      if (module == "onload") observed.devices.clear();
    });
  }
  Acted switch_to(const std::string& version) override {
    return act("switch " + version, [&] { observed.current = version; });
  }
  Acted insert(const std::string&, const TargetModule& module) override {
    if (module.name == "sfc_char" && !observed.modules.contains("sfc_resource")) return step_error("unknown_symbol");
    if (module.name == "onload" && !observed.modules.contains("sfc_char")) return step_error("unknown_symbol");
    return act("+" + module.name, [&] {
      Module loaded{.name = module.name, .build_id = module.build_id};
      for (const auto& [name, value] : module.parameters) loaded.parameters[name] = {value, true};
      observed.modules[module.name] = loaded;
      if (module.name == "sfc_resource") forget_settings();
      if (module.name == "sfc") observed.interfaces.insert(observed.interfaces.end(), ports.begin(), ports.end());
      if (module.name == "onload") {
        observed.servers = {ControlPlaneServer{}};
        set_access({.uid = 0, .gid = 0, .mode = 0666});  // as the kernel creates the nodes
      }
    });
  }
  Acted insert_system_module(const std::string& module) override {
    return act("+system " + module, [&] { observed.modules[module] = {.name = module, .build_id = system_build_id}; });
  }
  std::string system_build_id = "system";
  Acted set_parameter(const std::string& module, const std::string& parameter, const std::string& value) override {
    return act(module + "." + parameter + "=" + value, [&] {
      observed.modules.at(module).parameters.at(parameter).value = value;
      if (parameter == "cplane_spawn_server" && value == "Y") observed.servers = {ControlPlaneServer{}};
    });
  }
  Result<void> set_interface(const std::string& interface, InterfaceSwitch what, SwitchState to) override {
    const auto found = std::ranges::find(observed.interfaces, interface, &Interface::name);
    if (found == observed.interfaces.end()) return fail(ErrorCode::NotFound, "there is none of that name");
    if (what == InterfaceSwitch::Afxdp && to == SwitchState::Off && never_lets_go)
      return fail(ErrorCode::Busy, "it is in use");
    if (refuses_interfaces) return fail(ErrorCode::Hardware, "the interface does not want to");
    done.push_back(subject_of(interface, what) + " " + std::string(json::name_of(to)));
    if (what == InterfaceSwitch::Afxdp) found->afxdp = to == SwitchState::On;
    if (what == InterfaceSwitch::Acceleration) found->accelerated = to == SwitchState::On;
    return {};
  }
  bool never_lets_go = true;
  bool refuses_interfaces = false;
  Acted verify(const Target& target, const std::vector<NotedInterface>& before) override {
    return act("verify", [&] {
      verified = target.version;
      compared = before;
    });
  }
  std::vector<NotedInterface> compared;
  Result<void> may_remove_driver() override {
    return carries_default_route ? Result<void>(fail(ErrorCode::Conflict, "carries the default route"))
                                 : Result<void>();
  }
  bool carries_default_route = false;

  Result<std::vector<Version>> versions() override { return std::vector<Version>{}; }
  Result<Version> import(const std::string& name, const std::string&) override { return Version{.name = name}; }
  Result<void> remove_version(const std::string& name) override {
    removed_versions.push_back(name);
    return {};
  }
  Result<std::vector<Stack>> stacks() override { return in_use; }
  std::vector<Stack> in_use;
  Result<std::vector<Interface>> interfaces() override { return observed.interfaces; }

  std::vector<std::string> removed_versions;
  std::string verified;

  bool is(const Target& target) const {
    std::map<std::string, std::string> wanted, found;
    for (const TargetModule& module : target.modules) wanted[module.name] = module.build_id;
    for (const auto& [name, module] : observed.modules) {
      if (name != "sfc" || target.sfc == Sfc::Managed) found[name] = module.build_id;
    }
    return wanted == found;
  }
  // As after an operation that went to `target`.
  void put(const Target& target) {
    observed.modules.clear();
    for (const TargetModule& module : target.modules) (void)insert(target.version, module);
    observed.current = target.version;
    done.clear();
    acts = 0;
  }

  std::vector<Interface> ports;  // those that the driver brings

 private:
  // The module knows nothing of those before it.
  void forget_settings() {
    for (Interface& interface : observed.interfaces) {
      interface.afxdp = false;
      if (interface.accelerated) interface.accelerated = true;
    }
  }
  void set_access(const Access& access) {
    device_access_is_open = access.mode != 0;
    observed.devices.clear();
    if (!observed.modules.contains("onload")) return;
    const DeviceNumber number{240, 0};
    observed.devices = {{.name = "onload", .number = number, .node = NodeFile{number, access}}};
  }
  template <typename Change>
  Acted act(const std::string& what, Change change) {
    ++acts;
    if (fails_at > 0 && acts >= fails_at && acts <= std::max(fails_at, fails_until)) return step_error(cause);
    change();
    done.push_back(what);
    return {};
  }
  static Acted step_error(const std::string& cause) {
    return tl::unexpected(StepError{cause, "it is " + cause, {}, {}});
  }
};

}  // namespace nrd::onload
