// The network interfaces of this node as Onload sees them, and what became of them between two looks.
//
// A driver that is unloaded takes its interfaces with it, and they may come back under other names. So two looks are
// compared by PCI address and MAC. Only interfaces of nrd's own network namespace are seen. Engine thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Interface -> its addresses.
using Addresses = std::map<std::string, std::vector<std::string>>;
// Of nrd's own network namespace; the kernel tells them through netlink only and not below a directory.
Result<Addresses> addresses_of_host();

// By name. One that vanishes while it is read is left out.
Result<std::vector<Interface>> read_interfaces(const std::string& root, const Addresses& addresses);

// What became of those on PCI.
InterfaceChanges changes_between(const std::vector<Interface>& before, const std::vector<Interface>& after);

}  // namespace nrd::onload
