// Onload on the node as the run acts on it. daemon/onload/host.cc joins the rooms of hw/onload behind it; tests
// have a fake one. Called by the run's thread only.
//
// Each act is whole or says why not, in words for the client (Error::message) and the journal (Error::detail); the
// cause is a closed word for programs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/onload/target.h"

namespace nrd::onload {

// Why an act failed, and what the kernel logged meanwhile.
struct StepError {
  std::string cause;  // "in_use", "syscall_table", "unknown_symbol", "signature" ...; see docs/onload.md
  std::string message;
  std::string detail;
  std::vector<std::string> kernel;
};
using Acted = tl::expected<void, StepError>;

struct InstalledModule {
  std::string name;
  std::string version;  // empty: it has none
  std::string build_id;
  std::string path;  // in the tree of its version
  friend bool operator==(const InstalledModule&, const InstalledModule&) = default;
};

// A release of Onload whose files lie on this node.
struct InstalledVersion {
  std::string name;
  std::map<std::string, std::vector<InstalledModule>> kernels;  // by release of the kernel, in the order of loading
  std::string control_plane;                                    // paths in the tree; empty: it has none
  std::string library;
  friend bool operator==(const InstalledVersion&, const InstalledVersion&) = default;
};

// Something that must hold before a spec can be begun with.
struct Check {
  std::string name;
  std::optional<Error> refusal;  // nullopt: it holds
  std::string detail;            // what was found, if there is more to say
};

class Host {
 public:
  virtual ~Host() = default;

  virtual Result<Seen> observe() = 0;
  // One walk over all processes: slow.
  virtual InUse find_users() = 0;
  // Where `spec` leads here: the version's modules for the running kernel. Refused if that version is not installed,
  // not whole, or not for this kernel.
  virtual Result<Target> target_of(const Spec& spec) = 0;
  // Whether all that `spec` needs is here: its version, for this kernel, as it was imported. Reads all its files.
  virtual std::vector<Check> examine(const Spec& spec) = 0;

  // Conflict: the driver must stay, since this node is reached through one of its interfaces.
  virtual Result<void> may_remove_driver() = 0;

  virtual Acted close_door() = 0;
  virtual Acted open_door() = 0;
  enum class Force { Term, Kill };
  virtual Acted end_user(const ProcessId& process, Force force) = 0;
  virtual Acted stop_control_plane() = 0;
  virtual Acted remove(const std::string& module) = 0;  // cause "in_use": somebody came in between
  virtual Acted switch_to(const std::string& version) = 0;
  virtual Acted insert(const std::string& version, const TargetModule& module) = 0;
  virtual Acted insert_of_system(const std::string& module) = 0;  // the distribution's, with what it needs
  virtual Acted set_parameter(const std::string& module, const std::string& parameter, const std::string& value) = 0;
  // NotFound: it is not there (any more). Busy: the module does not let go of it, or has it already.
  virtual Result<void> set_interface(const std::string& interface, InterfaceSwitch what, Turned to) = 0;
  // `before`: interfaces of the driver that must be there again, under the same names.
  virtual Acted verify(const Target& target, const std::vector<NotedInterface>& before) = 0;

  virtual Result<std::vector<InstalledVersion>> versions() = 0;
  // From a folder or an archive on this node. Takes seconds.
  virtual Result<InstalledVersion> import(const std::string& name, const std::string& source) = 0;
  virtual Result<void> remove_version(const std::string& name) = 0;  // Conflict while a process uses its files
  virtual Result<std::vector<Stack>> stacks() = 0;
  virtual Result<std::vector<Interface>> interfaces() = 0;
};

}  // namespace nrd::onload
