// The node as operations change it. daemon/onload/host.cc implements it with hw/onload; tests use a fake. Called by the
// controller thread only.
//
// An act succeeds completely or explains its failure: Error::message for the client, Error::detail for the journal, and
// a fixed cause for programs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
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

// A precondition of an operation.
struct Check {
  std::string name;
  std::optional<Error> refusal;  // nullopt: it holds
  std::string detail;            // findings, if any
};
inline Check check_of(std::string name, const Result<void>& result) {
  return {std::move(name), result ? std::nullopt : std::optional(result.error()), {}};
}

class Host {
 public:
  virtual ~Host() = default;

  virtual Result<ObservedState> observe() = 0;
  // Walks all processes: slow.
  virtual InUse find_users() = 0;
  // The target of `spec` on this node: the version's modules for the running kernel. Fails if the version is not
  // installed, damaged, or not for this kernel.
  virtual Result<Target> target_of(const Spec& spec) = 0;
  // Checks that the version of `spec` is installed, unmodified and built for this kernel. Reads all its files.
  virtual std::vector<Check> examine(const Spec& spec) = 0;

  // Conflict: the driver must stay, because one of its interfaces carries the default route.
  virtual Result<void> may_remove_driver() = 0;

  virtual Acted close_device_access() = 0;
  virtual Acted open_device_access() = 0;
  enum class Force { Term, Kill };
  virtual Acted end_user(const ProcessId& process, Force force) = 0;
  virtual Acted stop_control_plane() = 0;
  virtual Acted remove(const std::string& module) = 0;  // cause "in_use": a new user appeared meanwhile
  virtual Acted switch_to(const std::string& version) = 0;
  virtual Acted insert(const std::string& version, const TargetModule& module) = 0;
  virtual Acted insert_system_module(
      const std::string& module) = 0;  // the distribution's module, with its dependencies
  virtual Acted set_parameter(const std::string& module, const std::string& parameter, const std::string& value) = 0;
  // NotFound: the interface does not exist. Busy: the module does not release it, or has it already.
  virtual Result<void> set_interface(const std::string& interface, InterfaceSwitch what, SwitchState to) = 0;
  // `before`: interfaces of the driver that must exist again under the same names.
  virtual Acted verify(const Target& target, const std::vector<NotedInterface>& before) = 0;

  virtual Result<std::vector<Version>> versions() = 0;
  // From a directory or archive on this node. Takes seconds.
  virtual Result<Version> import(const std::string& name, const std::string& source) = 0;
  virtual Result<void> remove_version(const std::string& name) = 0;  // Conflict while a process uses its files
  virtual Result<std::vector<Stack>> stacks() = 0;
  virtual Result<std::vector<Interface>> interfaces() = 0;
};

}  // namespace nrd::onload
