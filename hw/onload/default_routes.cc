#include "hw/onload/default_routes.h"

#include <cstdint>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "hw/onload/kernel_file.h"

namespace nrd::onload {
namespace {

constexpr uint32_t kUp = 0x1;                       // RTF_UP
constexpr uint32_t kReject = 0x200;                 // RTF_REJECT: unreachable, prohibit
constexpr size_t kRoutesLimit = size_t{256} << 20;  // 128 bytes per route; a router may have a full table
// Row, after a heading: interface, destination, gateway, flags, three counters, mask, ... in hex.
constexpr size_t kRouteFields = 8;
// Row: destination, its length, source, its length, next hop, metric, two counters, flags, interface, all in hex.
constexpr size_t kIpv6RouteFields = 10;

bool is_usable(uint32_t flags) { return (flags & kUp) != 0 && (flags & kReject) == 0; }

}  // namespace

std::optional<std::set<std::string>> parse_routes(std::string_view text) {
  const std::optional<std::vector<std::string_view>> lines = lines_of(text);
  if (!lines || lines->empty() || !lines->front().starts_with("Iface")) return std::nullopt;
  std::set<std::string> interfaces;
  for (size_t i = 1; i < lines->size(); ++i) {
    const std::vector<std::string_view> fields = fields_of((*lines)[i]);
    if (fields.size() < kRouteFields) return std::nullopt;
    const auto destination = parse_number<uint32_t>(fields[1], 16);
    const auto flags = parse_number<uint32_t>(fields[3], 16);
    const auto mask = parse_number<uint32_t>(fields[7], 16);
    if (!destination || !flags || !mask) return std::nullopt;
    if (*destination == 0 && *mask == 0 && is_usable(*flags)) interfaces.emplace(fields[0]);
  }
  return interfaces;
}

std::optional<std::set<std::string>> parse_ipv6_routes(std::string_view text) {
  const std::optional<std::vector<std::string_view>> lines = lines_of(text);
  if (!lines) return std::nullopt;
  std::set<std::string> interfaces;
  for (const std::string_view line : *lines) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != kIpv6RouteFields || fields[0].size() != 32) return std::nullopt;
    const auto length = parse_number<uint32_t>(fields[1], 16);
    const auto flags = parse_number<uint32_t>(fields[8], 16);
    if (!length || !flags) return std::nullopt;
    const bool is_default = *length == 0 && fields[0].find_first_not_of('0') == std::string_view::npos;
    if (is_default && is_usable(*flags)) interfaces.emplace(fields[9]);
  }
  return interfaces;
}

Result<std::set<std::string>> read_default_routes(const std::string& root) {
  std::set<std::string> interfaces;
  const std::string v4 = root + "/proc/net/route";
  const std::string v6 = root + "/proc/net/ipv6_route";
  for (const auto& [path, parse] : {std::pair(v4, &parse_routes), std::pair(v6, &parse_ipv6_routes)}) {
    const std::optional<std::string> text = TRY(read_file(path, kRoutesLimit));
    if (!text) continue;  // not supported by this kernel
    const std::optional<std::set<std::string>> found = parse(*text);
    if (!found) return unexpected("the routing table", path, *text);
    interfaces.insert(found->begin(), found->end());
  }
  return interfaces;
}

}  // namespace nrd::onload
