// What this room knows about Onload on this node, in plain structs: the modules, the device nodes, who uses them, and
// the network interfaces they serve. All of it is read from the kernel and nothing is remembered.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nrd::onload {

// A process that is never mistaken for a later one of the same number.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start = 0;  // clock ticks after boot (/proc/PID/stat, field 22)
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

enum class ModuleState { Builtin, Coming, Live, Going };

struct Parameter {
  std::optional<std::string> value;  // nullopt: it can only be written
  bool writable = false;             // while the module is loaded
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// One directory of /sys/module. Texts are empty where the module has no such file.
struct Module {
  std::string name;
  ModuleState state = ModuleState::Live;
  std::string version;
  std::string srcversion;
  std::string build_id;              // lower-case hex; the one identity that every module has
  std::optional<uint32_t> refcnt;    // nullopt: built in, or the kernel cannot unload modules
  std::vector<std::string> holders;  // modules that use its symbols, in order; each of them is one of `refcnt`
  std::string taint;                 // letters: O out of tree, E unsigned, F forced ...
  bool in_tree = true;               // no O
  std::map<std::string, Parameter> parameters;
  friend bool operator==(const Module&, const Module&) = default;
};

// What user space must agree on with the module, from /proc/driver/onload/version.
struct InterfaceVersion {
  std::string product;
  std::string version;
  std::string user_kernel;  // checksum of the interface between libonload.so and the module
  friend bool operator==(const InterfaceVersion&, const InterfaceVersion&) = default;
};

struct Stack {
  uint32_t id = 0;
  pid_t creator = 0;  // 0: in a pid namespace that cannot be seen from here
  uid_t uid = 0;
  bool orphan = false;  // its applications are gone, and the kernel still finishes its connections
  friend bool operator==(const Stack&, const Stack&) = default;
};

struct ControlPlaneServer {
  ProcessId process;
  std::string exe;
  uint64_t net_namespace = 0;  // inode
  std::chrono::seconds age{0};
  friend bool operator==(const ControlPlaneServer&, const ControlPlaneServer&) = default;
};

struct DeviceNumber {
  uint32_t major = 0;
  uint32_t minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

// Who may open a file.
struct Access {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;  // permission bits
  friend bool operator==(const Access&, const Access&) = default;
};

// A file in /dev under the name of one of our devices.
struct NodeFile {
  std::optional<DeviceNumber> number;  // nullopt: it is no character device
  Access access;
  friend bool operator==(const NodeFile&, const NodeFile&) = default;
};

struct DeviceNode {
  std::string name;                    // "onload", "onload_epoll", "sfc_char"
  std::optional<DeviceNumber> number;  // what the kernel says; nullopt: the module is not there
  std::optional<NodeFile> node;        // what lies in /dev; nullopt: nothing does
  // The node leads to the device. A node that outlived a reload of the module leads to a number that is dead or taken.
  bool leads_to_device() const { return number && node && node->number == number; }
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

enum class Use {
  Stack,        // /dev/onload or a socket of Onload
  Epoll,        // /dev/onload_epoll
  EfVi,         // /dev/sfc_char: ef_vi, TCPDirect
  PreloadOnly,  // libonload.so and nothing else: holds no reference to a module
  Service,      // a control plane server or a shrub controller: there because the module is
};

struct User {
  ProcessId process;
  std::string comm;
  std::string exe;  // empty: cannot be told
  uid_t uid = 0;
  std::string cgroup;  // path in the hierarchy of systemd or the unified one: "/system.slice/feed.service"
  std::string unit;    // the innermost unit in it: "feed.service"; empty: none
  std::set<Use> uses;
  std::set<uint32_t> stacks;
  std::string library;  // path of the libonload.so that it has mapped; empty: none
  bool stale = false;   // that library was deleted, or is not the installed one
  friend bool operator==(const User&, const User&) = default;
};

// Is Onload in use? Whatever could not be looked at counts as used: a module is never taken from under somebody because
// nrd could not see them.
struct InUse {
  std::vector<User> users;
  std::vector<User> services;
  std::vector<Stack> stacks;                                        // of applications that live
  std::vector<Stack> orphans;                                       // hold no reference, but end with the module
  std::map<std::string, uint32_t> unexplained;                      // module -> references without a user to be seen
  std::map<std::string, std::vector<std::string>> foreign_holders;  // module -> modules that are not Onload's
  std::vector<std::string> unknown;  // what could not be told: the first of such sentences
  bool in_use() const {
    return !users.empty() || !stacks.empty() || !unexplained.empty() || !foreign_holders.empty() || !unknown.empty();
  }
  friend bool operator==(const InUse&, const InUse&) = default;
};

struct Interface {
  std::string name;
  std::string pci;          // "0000:03:00.0"; empty: not on PCI
  bool solarflare = false;  // PCI vendor 0x1924
  std::string mac;          // the permanent one where a bond has lent it another
  std::string driver;
  std::string driver_module;
  std::string driver_version;
  std::optional<uint32_t> speed;  // Mb/s; nullopt: no link
  std::string operstate;
  std::optional<bool> accelerated;     // sfc_resource/enable; nullopt: there is no such switch
  bool afxdp = false;                  // registered with Onload through AF_XDP
  std::vector<std::string> uppers;     // bonds, bridges, VLANs on top of it
  std::vector<std::string> addresses;  // "192.0.2.1/24"
  bool default_route = false;          // it or one of its uppers carries one
  uint32_t vfs = 0;                    // SR-IOV functions that are switched on
  friend bool operator==(const Interface&, const Interface&) = default;
};

// What became of interfaces between two looks. They are known by PCI address and MAC, not by name.
struct InterfaceChanges {
  std::map<std::string, std::string> renamed;  // from -> to
  std::vector<std::string> lost;
  std::vector<std::string> found;
  friend bool operator==(const InterfaceChanges&, const InterfaceChanges&) = default;
};

}  // namespace nrd::onload
