// Requested settings of single network interfaces: acceleration, and registration through AF_XDP. The kernel forgets
// both when the module is unloaded, so nrd stores them and applies them after each load.
//
// Interfaces are identified by PCI address and MAC, since a reloaded driver may rename them. If several share a PCI
// function, the MAC decides; without PCI, the MAC alone. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/onload/spec.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// "eth0.acceleration": the subject of a Configure step.
std::string subject_of(const std::string& interface, InterfaceSwitch what);
struct InterfaceSubject {
  std::string interface;
  InterfaceSwitch what;
};
InterfaceSubject parse_subject(const std::string& subject);

// Null: no such interface.
const Interface* find(const InterfaceSpec& spec, const std::vector<Interface>& interfaces);
const InterfaceSpec* find(const std::vector<InterfaceSpec>& specs, const Interface& interface,
                          const std::vector<Interface>& interfaces);

// An empty spec that identifies this interface. Conflict: it cannot be identified uniquely.
Result<InterfaceSpec> known_by(const Interface& interface, const std::vector<Interface>& interfaces);

// The settings that differ on existing interfaces. Does not unregister interfaces: that happens on request only, or
// when the module is unloaded.
struct InterfaceChange {
  std::string interface;
  InterfaceSwitch what = InterfaceSwitch::Acceleration;
  SwitchState to = SwitchState::Off;
  friend bool operator==(const InterfaceChange&, const InterfaceChange&) = default;
};
std::vector<InterfaceChange> changes_for(const std::vector<InterfaceSpec>& specs,
                                         const std::vector<Interface>& interfaces);

// Interfaces of the driver, with their current names.
std::vector<NotedInterface> interfaces_of_driver(const std::vector<Interface>& interfaces);

}  // namespace nrd::onload
