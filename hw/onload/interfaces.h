// The network interfaces of this node as Onload sees them, and what changed between two observations.
//
// Unloading a driver removes its interfaces, and they may come back under other names, so they are compared by PCI
// address and MAC. Only interfaces of nrd's network namespace are seen. Engine thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Interface -> its addresses.
using Addresses = std::map<std::string, std::vector<std::string>>;
// Of nrd's own network namespace, by netlink.
Result<Addresses> addresses_of_host();

// Sorted by name. Interfaces that disappear meanwhile are omitted.
Result<std::vector<Interface>> read_interfaces(const std::string& root, const Addresses& addresses);

// Of interfaces on PCI only.
InterfaceChanges changes_between(const std::vector<Interface>& before, const std::vector<Interface>& after);

}  // namespace nrd::onload
