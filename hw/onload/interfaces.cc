#include "hw/onload/interfaces.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/errno_text.h"
#include "base/file.h"
#include "base/find_in.h"
#include "base/number.h"
#include "hw/onload/interface_settings.h"
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

std::string target_name(const std::string& link) { return std::string(name_in(read_link(link).value_or(""))); }

// "0000:03:00.0"
bool is_pci_address(std::string_view name) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (name.size() != kForm.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_digit = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f');
    if (kForm[i] == 'x' ? !is_digit : name[i] != kForm[i]) return false;
  }
  return true;
}

// The PCI function of an interface, also through a bus in between (virtio); empty: none.
std::string pci_address_of(const std::string& device) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(device.c_str(), nullptr), &std::free);
  for (std::string_view rest = real ? real.get() : ""; !rest.empty(); rest = rest.substr(0, rest.rfind('/'))) {
    if (is_pci_address(name_in(rest))) return std::string(name_in(rest));
  }
  return {};
}

// For information only: empty if the file is missing or unreadable (speed without a link is EINVAL).
std::string line_or_empty(const std::string& path) {
  const Result<std::optional<std::string>> line = read_line(path);
  return line ? line->value_or("") : "";
}

Result<uint32_t> read_vfs(const std::string& interface_path) {
  const std::string path = interface_path + "/device/sriov_numvfs";
  const std::optional<std::string> line = TRY(read_line(path));
  if (!line) return 0;
  const std::optional<uint32_t> count = parse_number<uint32_t>(*line);
  if (!count) return unexpected("the number of virtual functions", path, *line);
  return *count;
}

// nullopt: the interface disappeared.
Result<std::optional<Interface>> read_interface(const std::string& root, const std::string& name) {
  const std::string path = interface_path(root, name);
  Interface found{.name = name};
  const Result<std::optional<std::string>> mac = read_line(path + "/address");
  // A disappearing interface fails with EINVAL shortly before its files are gone.
  if (!mac && exists(path + "/address")) return Failure(mac.error());
  if (!mac || !*mac) return std::nullopt;
  const std::string permanent = line_or_empty(path + "/bonding_slave/perm_hwaddr");
  found.index = parse_number<uint32_t>(line_or_empty(path + "/ifindex")).value_or(0);
  found.mac = permanent.empty() ? **mac : permanent;
  found.pci = pci_address_of(path + "/device");
  found.solarflare = is_solarflare(root, name);
  found.driver = target_name(path + "/device/driver");
  found.driver_module = target_name(path + "/device/driver/module");
  if (!found.driver_module.empty()) {
    found.driver_version = line_or_empty(root + "/sys/module/" + found.driver_module + "/version");
  }
  found.speed = parse_number<uint32_t>(line_or_empty(path + "/speed"));  // -1: unknown
  found.operstate = line_or_empty(path + "/operstate");
  found.accelerated = read_acceleration(root, name);
  found.afxdp = is_registered(root, name);
  found.vfs = TRY(read_vfs(path));
  constexpr std::string_view kUpper = "upper_";
  for (const std::string& file : TRY(list_directory(path))) {
    if (file.starts_with(kUpper)) found.uppers.push_back(file.substr(kUpper.size()));
  }
  return found;
}

// An interface below a bond carries the bond's default route.
void propagate_default_routes(std::vector<Interface>& interfaces, std::set<std::string> carriers) {
  for (bool again = true; again;) {
    again = false;
    for (Interface& interface : interfaces) {
      if (interface.default_route) continue;
      interface.default_route = carriers.contains(interface.name) ||
                                std::ranges::any_of(interface.uppers, [&carriers](const std::string& upper) {
                                  return carriers.contains(upper);
                                });
      if (interface.default_route) again = carriers.insert(interface.name).second || again;
    }
  }
}

int prefix_of(const sockaddr& mask) {
  std::array<unsigned char, 16> bytes{};
  if (mask.sa_family == AF_INET) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in&>(mask).sin_addr, 4);
  } else {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(mask).sin6_addr, 16);
  }
  int bits = 0;
  for (const unsigned char byte : bytes) bits += std::popcount(byte);
  return bits;
}

}  // namespace

Result<Addresses> addresses_of_host() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return fail(ErrorCode::Hardware, "cannot read the addresses of network interfaces", errno_text("getifaddrs"));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  Addresses addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_netmask == nullptr) continue;
    const sa_family_t family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(entry->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    std::string address = text.data();
    address.resize(std::min(address.find('%'), address.size()));  // the scope
    addresses[entry->ifa_name].push_back(fmt::format("{}/{}", address, prefix_of(*entry->ifa_netmask)));
  }
  return addresses;
}

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
    const std::optional<std::set<std::string>> found = TRY(read_parsed(path, kRoutesLimit, "the routing table", parse));
    if (found) interfaces.insert(found->begin(), found->end());  // else not supported by this kernel
  }
  return interfaces;
}

Result<std::vector<Interface>> read_interfaces(const std::string& root, const Addresses& addresses) {
  const std::set<std::string> carriers = TRY(read_default_routes(root));
  std::vector<Interface> interfaces;
  for (const std::string& name : TRY(list_directory(root + "/sys/class/net"))) {
    // bonding_masters is a file among the interfaces; it has no address.
    std::optional<Interface> interface = TRY(read_interface(root, name));
    if (!interface) continue;
    if (const auto* own = find_in(addresses, name)) interface->addresses = *own;
    interfaces.push_back(*std::move(interface));
  }
  propagate_default_routes(interfaces, carriers);
  return interfaces;
}

InterfaceChanges changes_between(const std::vector<Interface>& before, const std::vector<Interface>& after) {
  // Ports that share PCI address and MAC differ only by name, so match unchanged names first.
  std::multimap<std::pair<std::string, std::string>, std::string> left;
  for (const Interface& interface : after) {
    if (!interface.pci.empty()) left.emplace(std::pair(interface.pci, interface.mac), interface.name);
  }
  std::vector<const Interface*> missing;
  for (const Interface& interface : before) {
    if (interface.pci.empty()) continue;
    const auto [first, last] = left.equal_range(std::pair(interface.pci, interface.mac));
    const auto same =
        std::find_if(first, last, [&interface](const auto& item) { return item.second == interface.name; });
    if (same == last) {
      missing.push_back(&interface);
    } else {
      left.erase(same);
    }
  }
  InterfaceChanges changes;
  for (const Interface* interface : missing) {
    const auto other = left.find(std::pair(interface->pci, interface->mac));
    if (other == left.end()) {
      changes.lost.push_back(interface->name);
    } else {
      changes.renamed.emplace(interface->name, other->second);
      left.erase(other);
    }
  }
  std::ranges::sort(changes.lost);
  return changes;
}

}  // namespace nrd::onload
