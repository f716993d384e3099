// What somebody wants of single network interfaces: that Onload may accelerate one, or that one is registered with it
// through AF_XDP. The kernel forgets both with the module, so nrd remembers them and sets them again after each load.
//
// An interface is known by its place on PCI and its MAC, since a driver that comes back may give it another name. Of
// several on one PCI function the MAC decides; one that is not on PCI is known by its MAC alone. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/onload/spec.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// "eth0.acceleration": what a step sets.
std::string subject_of(const std::string& interface, InterfaceSwitch what);
struct InterfaceSubject {
  std::string interface;
  InterfaceSwitch what;
};
InterfaceSubject parse_subject(const std::string& subject);

// Null: there is none of it.
const Interface* find(const InterfaceSpec& spec, const std::vector<Interface>& interfaces);
const InterfaceSpec* find(const std::vector<InterfaceSpec>& specs, const Interface& interface,
                          const std::vector<Interface>& interfaces);

// A spec for this interface that wants nothing yet. Conflict: it cannot be told from others.
Result<InterfaceSpec> known_by(const Interface& interface, const std::vector<Interface>& interfaces);

// What must be set on what is there. One that shall not be registered is not among it: it is let go when it is asked
// for, or goes with the module.
struct InterfaceChange {
  std::string interface;
  InterfaceSwitch what = InterfaceSwitch::Acceleration;
  Turned to = Turned::Off;
  friend bool operator==(const InterfaceChange&, const InterfaceChange&) = default;
};
std::vector<InterfaceChange> changes_for(const std::vector<InterfaceSpec>& specs,
                                         const std::vector<Interface>& interfaces);

// Those that go with the driver, as they are called now.
std::vector<NotedInterface> interfaces_of_driver(const std::vector<Interface>& interfaces);

}  // namespace nrd::onload
