// The state of Onload on this node, as read from the kernel: modules, device nodes, users and network interfaces.
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

// Identifies a process even if its PID is reused.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start = 0;  // clock ticks after boot (/proc/PID/stat, field 22)
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

enum class ModuleState { Builtin, Coming, Live, Going };

struct Parameter {
  std::optional<std::string> value;  // nullopt: write-only
  bool writable = false;             // while the module is loaded
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// A module, from /sys/module. Texts are empty if the module has no such attribute.
struct Module {
  std::string name;
  ModuleState state = ModuleState::Live;
  std::string version;
  std::string srcversion;
  std::string build_id;              // lower-case hex; the only identity that every module has
  std::optional<uint32_t> refcnt;    // nullopt: built in, or the kernel cannot unload modules
  std::vector<std::string> holders;  // sorted dependent modules; each has one reference
  std::string taint;                 // letters: O out of tree, E unsigned, F forced ...
  bool in_tree = true;               // taint without O
  std::map<std::string, Parameter> parameters;
  friend bool operator==(const Module&, const Module&) = default;
};

// The interface between user space and the module, from /proc/driver/onload/version.
struct InterfaceVersion {
  std::string product;
  std::string version;
  std::string user_kernel;  // checksum of the interface between libonload.so and the module
  friend bool operator==(const InterfaceVersion&, const InterfaceVersion&) = default;
};

struct Stack {
  uint32_t id = 0;
  pid_t creator = 0;  // 0: in an inaccessible PID namespace
  uid_t uid = 0;
  bool orphan = false;  // its applications have exited; the kernel finishes its connections
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

// Access permissions of a file.
struct Access {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;  // permission bits
  friend bool operator==(const Access&, const Access&) = default;
};

// A file in /dev with the name of an Onload device.
struct NodeFile {
  std::optional<DeviceNumber> number;  // nullopt: not a character device
  Access access;
  friend bool operator==(const NodeFile&, const NodeFile&) = default;
};

struct DeviceNode {
  std::string name;                    // "onload", "onload_epoll", "sfc_char"
  std::optional<DeviceNumber> number;  // from the kernel; nullopt: the module is not loaded
  std::optional<NodeFile> node;        // the file in /dev; nullopt: none
  // False for a node that outlived a reload of its module.
  bool leads_to_device() const { return number && node && node->number == number; }
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

enum class Use {
  Stack,        // /dev/onload or a socket of Onload
  Epoll,        // /dev/onload_epoll
  EfVi,         // /dev/sfc_char: ef_vi, TCPDirect
  PreloadOnly,  // libonload.so only: holds no reference to a module
  Service,      // a control plane server or shrub controller
};

struct User {
  ProcessId process;
  std::string comm;
  std::string exe;  // empty: unknown
  uid_t uid = 0;
  std::string cgroup;  // path in the hierarchy of systemd or the unified one: "/system.slice/feed.service"
  std::string unit;    // the innermost unit in it: "feed.service"; empty: none
  std::set<Use> uses;
  std::set<uint32_t> stacks;
  std::string library;  // path of the mapped libonload.so; empty: none
  bool stale = false;   // the library was deleted, or is not the installed one
  friend bool operator==(const User&, const User&) = default;
};

// The users of Onload. Anything that cannot be inspected counts as use, so that no module is removed under its users.
struct InUse {
  std::vector<User> users;
  std::vector<User> services;
  std::vector<Stack> stacks;                                        // of running applications
  std::vector<Stack> orphans;                                       // hold no reference; end with the module
  std::map<std::string, uint32_t> unexplained;                      // module -> references without a known user
  std::map<std::string, std::vector<std::string>> foreign_holders;  // module -> dependent modules of others
  std::vector<std::string> unknown;                                 // errors of the search; the first ones
  bool ended_early = false;  // some processes were not inspected; `unknown` has the reason
  bool in_use() const {
    return !users.empty() || !stacks.empty() || !unexplained.empty() || !foreign_holders.empty() || !unknown.empty();
  }
  friend bool operator==(const InUse&, const InUse&) = default;
};

// What a kernel module file says about itself.
struct ModuleFile {
  std::string name;
  std::string version;               // empty: none, as for sfc_resource and sfc_char
  std::string vermagic;              // begins with the release of its kernel
  std::string build_id;              // in hex, as file(1) shows it; empty: none
  std::vector<std::string> depends;  // modules whose symbols it uses
  std::vector<std::string> parameters;
  friend bool operator==(const ModuleFile&, const ModuleFile&) = default;
};

// A module and its path in the tree of its version of Onload.
struct VersionModule {
  std::string path;  // "lib/modules/6.1.0-56-amd64/extra/onload.ko"
  ModuleFile file;
  friend bool operator==(const VersionModule&, const VersionModule&) = default;
};

// An installed version of Onload.
struct Version {
  std::string name;
  // Kernel release ("6.1.0-56-amd64") -> its modules, in load order.
  std::map<std::string, std::vector<VersionModule>> kernels;
  // Paths in the tree; empty: none.
  std::string control_plane;  // "sbin/onload_cp_server"
  std::string library;        // "usr/lib64/libonload.so"
  friend bool operator==(const Version&, const Version&) = default;
};

enum class SwitchState { Off, On };

struct Interface {
  std::string name;
  uint32_t index = 0;       // of the kernel: a new one for each registration
  std::string pci;          // "0000:03:00.0"; empty: not on PCI
  bool solarflare = false;  // PCI vendor 0x1924
  std::string mac;          // the permanent address, also in a bond
  std::string driver;
  std::string driver_module;
  std::string driver_version;
  std::optional<uint32_t> speed;  // Mb/s; nullopt: no link
  std::string operstate;
  std::optional<bool> accelerated;     // sfc_resource/enable; nullopt: no such setting
  bool afxdp = false;                  // registered with Onload through AF_XDP
  std::vector<std::string> uppers;     // bonds, bridges, VLANs on top of it
  std::vector<std::string> addresses;  // "192.0.2.1/24"
  bool default_route = false;          // of the interface or one of its uppers
  uint32_t vfs = 0;                    // enabled SR-IOV functions
  friend bool operator==(const Interface&, const Interface&) = default;
};

// Differences between two observations, by PCI address and MAC.
struct InterfaceChanges {
  std::map<std::string, std::string> renamed;  // from -> to
  std::vector<std::string> lost;
  friend bool operator==(const InterfaceChanges&, const InterfaceChanges&) = default;
};

}  // namespace nrd::onload
