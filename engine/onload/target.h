// The target of an operation, in terms of the observable state of the node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/find_in.h"
#include "engine/onload/spec.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Drivers that provide the network interfaces, of old releases as well, and the modules they depend on.
inline bool is_of_driver(std::string_view module) {
  return module == "sfc" || module == "sfc_ef100" || module == "sfc_driverlink" || module == "virtual_bus";
}

// A module of an installed version.
struct TargetModule {
  std::string name;
  std::string build_id;                           // of its file; identifies the loaded module
  std::map<std::string, std::string> parameters;  // to load with, and to keep
  friend bool operator==(const TargetModule&, const TargetModule&) = default;
};

// Device access at the end of the operation.
enum class DeviceAccess {
  Open,
  Closed,
  Unchanged,  // leave it as it is
};

struct Target {
  State state = State::Unmanaged;
  std::string version;                // empty unless Loaded
  std::vector<TargetModule> modules;  // in load order; empty unless Loaded
  Sfc sfc = Sfc::External;
  UsersPolicy users = UsersPolicy::Fail;
  std::chrono::seconds drain{30};
  DeviceAccess device_access = DeviceAccess::Open;
  bool ends_users = false;              // even if no module must be removed
  bool restarts_control_plane = false;  // restart the control plane server
  // Set when rolling back a spec that replaced a foreign driver: build ids of the modules of nrd's driver. They are
  // removed and the distribution's driver is loaded.
  std::optional<std::vector<std::string>> reverted_driver;
  std::vector<InterfaceSpec> interfaces;
  Access devices{.uid = 0, .gid = 0, .mode = 0666};  // while device access is open
  friend bool operator==(const Target&, const Target&) = default;
};

// Null: the target has no such module.
inline const TargetModule* find_module(const Target& target, std::string_view name) {
  return first_with(target.modules, &TargetModule::name, name);
}

// The observed state of the node.
struct ObservedState {
  std::map<std::string, Module> modules;  // loaded modules of Onload, including sfc
  std::vector<DeviceNode> devices;
  std::vector<ControlPlaneServer> servers;
  std::string current;                // version whose files are current; empty: none
  std::vector<Interface> interfaces;  // without addresses
  // The current library matches the loaded module. nullopt: one of them is missing.
  std::optional<bool> library_fits;
  friend bool operator==(const ObservedState&, const ObservedState&) = default;
};

}  // namespace nrd::onload
