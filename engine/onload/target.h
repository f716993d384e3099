// Where a run goes, in terms of what can be seen on the node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onload/spec.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// sfc and what lies beneath it carry the interfaces.
inline bool is_of_driver(std::string_view module) {
  return module == "sfc" || module == "sfc_driverlink" || module == "virtual_bus";
}

// A module of an installed version.
struct TargetModule {
  std::string name;
  std::string build_id;                           // of its file: what is loaded is known by it
  std::map<std::string, std::string> parameters;  // to be loaded with, and to be kept at
  friend bool operator==(const TargetModule&, const TargetModule&) = default;
};

// The device nodes, when all else is done.
enum class DeviceAccess {
  Open,
  Shut,
  AsItIs,  // nobody has a say in it
};

struct Target {
  State state = State::Unmanaged;
  std::string version;                // empty unless Loaded
  std::vector<TargetModule> modules;  // in the order of loading; empty unless Loaded
  Sfc sfc = Sfc::External;
  UsersPolicy users = UsersPolicy::Fail;
  std::chrono::seconds drain{30};
  DeviceAccess device_access = DeviceAccess::Open;
  bool ends_users = false;       // also if no module must go
  bool restarts_server = false;  // of the control plane
  // Set where a spec is undone that took somebody else's driver away: build ids of the modules of its own driver. They
  // go, and the distribution's driver comes.
  std::optional<std::vector<std::string>> undone_driver;
  std::vector<InterfaceSpec> interfaces;
  Access devices{.uid = 0, .gid = 0, .mode = 0666};  // while the device_access is open
  friend bool operator==(const Target&, const Target&) = default;
};

// What is on the node now.
struct Seen {
  std::map<std::string, Module> modules;  // those of Onload that are loaded, sfc among them
  std::vector<DeviceNode> devices;
  std::vector<ControlPlaneServer> servers;
  std::string current;                // version whose files are the current ones; empty: none
  std::vector<Interface> interfaces;  // without their addresses
  // The current library speaks to the loaded module. nullopt: one of them is not there.
  std::optional<bool> library_fits;
  friend bool operator==(const Seen&, const Seen&) = default;
};

}  // namespace nrd::onload
