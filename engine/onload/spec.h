// What somebody wants Onload to be on this node, and what became of it.
//
// Each accepted spec is a generation with a number. The plan from one to the next is an operation: steps, each stored
// before it acts, so that a daemon that dies in the middle knows at its next start what it was about. What it finds on
// the node then is what counts; the record only says where to go.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nrd::onload {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC

// Module -> name -> value, as the kernel takes them.
using Parameters = std::map<std::string, std::map<std::string, std::string>>;

enum class State {
  Unmanaged,  // nrd looks and leaves alone
  Unloaded,
  Loaded,
};

// Whether the network driver comes and goes with Onload. It carries the interfaces, so it is left alone unless asked.
enum class Sfc { External, Managed };

// What happens to those who use Onload when its modules must go.
enum class UsersPolicy {
  Fail,
  Wait,  // until they end
  Term,  // SIGTERM when waiting was not enough
  Kill,  // SIGKILL after that
};

enum class OnFailure {
  Rollback,  // to the last generation that was verified
  Stop,
};

struct Spec {
  State state = State::Unmanaged;
  std::string version;  // name of an installed version; of State::Loaded only
  Sfc sfc = Sfc::External;
  Parameters parameters;
  std::vector<std::string> control_plane = {"-K"};  // what the control plane server is started with
  UsersPolicy users = UsersPolicy::Fail;
  std::chrono::seconds drain{30};  // how long users may take to end
  OnFailure on_failure = OnFailure::Rollback;
  friend bool operator==(const Spec&, const Spec&) = default;
};

// What can be set on a network interface: hw/onload/interface_settings.h.
enum class InterfaceSwitch { Acceleration, Afxdp };
enum class Turned { Off, On };

// What is wanted of one, whatever it is called and whether Onload is loaded or not; nullopt: nothing was said.
struct InterfaceSpec {
  std::string pci;  // empty: not on PCI
  std::string mac;
  std::optional<bool> accelerated;
  std::optional<bool> registered;  // through AF_XDP
  friend bool operator==(const InterfaceSpec&, const InterfaceSpec&) = default;
};

// An interface of the driver as it was called before the driver was removed.
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
  CloseDoor,  // nobody new may open the devices
  EndUsers,   // as the policy says
  StopControlPlane,
  Remove,        // subject: module
  Switch,        // subject: version whose files are the current ones
  Insert,        // subject: module
  SetParameter,  // subject: module.parameter
  Configure,     // subject: interface.acceleration, interface.afxdp
  Verify,
  OpenDoor,
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
  std::vector<std::string> kernel;  // what the kernel logged meanwhile, of Onload's
  friend bool operator==(const Step&, const Step&) = default;
};

enum class Outcome { Running, Succeeded, RolledBack, Failed };

// What an operation is for.
enum class OperationKind {
  Change,  // to its generation
  Drain,   // the device_access is shut and stays so, and users end
  Undrain,
  RestartControlPlane,
};

struct Operation {
  uint64_t id = 0;
  uint64_t generation = 0;           // where it goes; of other kinds: what is in force
  std::optional<uint64_t> fallback;  // where it goes since that failed; 0: to what was there before nrd
  Outcome outcome = Outcome::Running;
  Time started;
  std::optional<Time> finished;
  std::string cause;  // of the first failure
  std::string message;
  std::vector<Step> steps;
  OperationKind kind = OperationKind::Change;
  UsersPolicy users = UsersPolicy::Fail;   // of a drain
  std::chrono::seconds drain{0};           // likewise
  std::vector<NotedInterface> interfaces;  // of the driver before its removal; empty: it was not removed
  friend bool operator==(const Operation&, const Operation&) = default;
};

// Cause of an operation that somebody has cancelled.
constexpr const char* kCancelled = "cancelled";

struct Freeze {
  bool frozen = false;
  std::string reason;
  friend bool operator==(const Freeze&, const Freeze&) = default;
};

}  // namespace nrd::onload
