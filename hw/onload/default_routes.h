// Which interfaces carry a default route, so that nobody takes the one away through which he is reached.
//
// From /proc/net/route and /proc/net/ipv6_route, which show the main table of nrd's own network namespace; routes of
// other tables are not seen. Only routes count that are up and do not refuse. Engine thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nrd::onload {

// Interfaces with a default route. nullopt: the text was cut off or is garbage.
std::optional<std::set<std::string>> parse_routes(std::string_view text);
std::optional<std::set<std::string>> parse_ipv6_routes(std::string_view text);

Result<std::set<std::string>> read_default_routes(const std::string& root);

}  // namespace nrd::onload
