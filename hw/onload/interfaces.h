// The network interfaces of this node as Onload sees them, and what changed between two observations.
//
// Unloading a driver removes its interfaces, and they may come back under other names, so they are compared by PCI
// address and MAC. Only interfaces of nrd's network namespace are seen. Controller thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/onload/types.h"

namespace nrd::onload {

// Interface -> its addresses.
using Addresses = std::map<std::string, std::vector<std::string>>;
// Of nrd's own network namespace, by netlink.
Result<Addresses> addresses_of_host();

// Interfaces with a default route, which must not be taken away from a remote administrator: from the text of
// /proc/net/route or /proc/net/ipv6_route, the main table of nrd's network namespace. Routes that are down or reject
// packets do not count. nullopt: truncated or malformed.
std::optional<std::set<std::string>> parse_routes(std::string_view text);
std::optional<std::set<std::string>> parse_ipv6_routes(std::string_view text);
Result<std::set<std::string>> read_default_routes(const std::string& root);

// Sorted by name. Interfaces that disappear meanwhile are omitted.
Result<std::vector<Interface>> read_interfaces(const std::string& root, const Addresses& addresses);

// Of interfaces on PCI only.
InterfaceChanges changes_between(const std::vector<Interface>& before, const std::vector<Interface>& after);

}  // namespace nrd::onload
