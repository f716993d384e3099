// Interfaces that carry a default route, which must not be taken away from a remote administrator.
//
// Read from /proc/net/route and /proc/net/ipv6_route: the main table of nrd's network namespace. Routes that are down
// or reject packets do not count. Engine thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::onload {

// Interfaces with a default route. nullopt: truncated or malformed.
std::optional<std::set<std::string>> parse_routes(std::string_view text);
std::optional<std::set<std::string>> parse_ipv6_routes(std::string_view text);

Result<std::set<std::string>> read_default_routes(const std::string& root);

}  // namespace nrd::onload
