// The requested state of Onload on this node, and the history of changes.
//
// Each accepted spec becomes a generation with a number. An operation moves the node from one generation to another in
// steps, each stored before it acts, so that a daemon that dies can continue. The observed state of the node decides
// what to do next; the record only holds the goal.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace nrd::onload {

// Module -> name -> value, in the kernel's syntax.
using ModuleParameters = std::map<std::string, std::string>;
using Parameters = std::map<std::string, ModuleParameters>;

enum class State {
  Unmanaged,  // nrd observes and changes nothing
  Unloaded,
  Loaded,
};

// Whether nrd loads and unloads the network driver together with Onload. It carries the interfaces, so only on request.
enum class Sfc { External, Managed };

// Whether modules are restored after a reboot.
enum class AtStart { Apply, Observe };

// How to treat processes that use Onload when its modules must be removed.
enum class UsersPolicy {
  Fail,
  Wait,  // until they exit
  Term,  // SIGTERM after the wait
  Kill,  // then SIGKILL
};

enum class OnFailure {
  Rollback,  // to the last verified generation
  Stop,
};

struct Spec {
  State state = State::Unmanaged;
  std::string version;  // name of an installed version; State::Loaded only
  Sfc sfc = Sfc::External;
  Parameters parameters;
  std::vector<std::string> control_plane = {"-K"};  // arguments of the control plane server
  UsersPolicy users = UsersPolicy::Fail;
  std::chrono::seconds drain{30};  // time for users to exit
  OnFailure on_failure = OnFailure::Rollback;
  friend bool operator==(const Spec&, const Spec&) = default;
};

// For settings that require a module reload.
enum class Reload { Refuse, Allow };

// Changes to single settings of the effective spec.
struct SpecPatch {
  Parameters parameters;                                  // replaced or added
  std::optional<std::vector<std::string>> control_plane;  // nullopt: unchanged
  Reload reload = Reload::Refuse;
  friend bool operator==(const SpecPatch&, const SpecPatch&) = default;
};

// Settings of a network interface: hw/onload/interface_settings.h.
enum class InterfaceSwitch { Acceleration, Afxdp };

// Requested settings of an interface, independent of its name and of whether Onload is loaded; nullopt: not requested.
struct InterfaceSpec {
  std::string pci;  // empty: not on PCI
  std::string mac;
  std::optional<bool> accelerated;
  std::optional<bool> registered;  // through AF_XDP
  friend bool operator==(const InterfaceSpec&, const InterfaceSpec&) = default;
};

// An interface of the driver, with its name before the driver was removed.
struct NotedInterface {
  std::string pci;
  std::string mac;
  std::string name;
  friend bool operator==(const NotedInterface&, const NotedInterface&) = default;
};

enum class Verdict { Pending, Verified, Failed };

struct Generation {
  uint64_t number = 0;
  Spec spec;
  Time created;
  Verdict verdict = Verdict::Pending;
  std::optional<Time> verified;
  friend bool operator==(const Generation&, const Generation&) = default;
};

enum class Act {
  CloseDeviceAccess,  // no new users may open the devices
  EndUsers,           // according to the users policy
  StopControlPlane,
  Remove,        // subject: module
  Switch,        // subject: version whose files become current
  Insert,        // subject: module
  SetParameter,  // subject: module.parameter
  Configure,     // subject: interface.acceleration, interface.afxdp
  Verify,
  OpenDeviceAccess,
};

enum class Progress { Running, Done, Failed, Interrupted };

struct Step {
  Act act = Act::Verify;
  std::string subject;
  Progress progress = Progress::Running;
  Time started;
  std::optional<Time> finished;
  std::string cause;                // of a failure: "syscall_table", "in_use" ...; empty otherwise
  std::string message;              // of a failure, for people
  std::vector<std::string> kernel;  // kernel log lines about Onload during the step
  friend bool operator==(const Step&, const Step&) = default;
};

enum class Outcome { Running, Succeeded, RolledBack, Failed };

// The purpose of an operation.
enum class OperationKind {
  Change,  // moves to its generation
  Drain,   // closes device access permanently and ends users
  Undrain,
  RestartControlPlane,
};

struct Operation {
  uint64_t id = 0;
  uint64_t generation = 0;           // the target; for other kinds the effective one
  std::optional<uint64_t> fallback;  // rollback target after a failure; 0: the state before nrd
  Outcome outcome = Outcome::Running;
  Time started;
  std::optional<Time> finished;
  std::string cause;  // of the first failure
  std::string message;
  std::vector<Step> steps;
  OperationKind kind = OperationKind::Change;
  UsersPolicy users = UsersPolicy::Fail;   // of a drain
  std::chrono::seconds drain{0};           // of a drain
  std::vector<NotedInterface> interfaces;  // of the driver before its removal; empty: not removed
  friend bool operator==(const Operation&, const Operation&) = default;
};

// Cause of an operation that was cancelled by request.
constexpr const char* kCancelled = "cancelled";

struct Freeze {
  bool frozen = false;
  std::string reason;
  friend bool operator==(const Freeze&, const Freeze&) = default;
};

}  // namespace nrd::onload
