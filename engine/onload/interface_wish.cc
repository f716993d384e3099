#include "engine/onload/interface_wish.h"

#include <algorithm>

#include "engine/onload/target.h"
#include "engine/onload/words.h"

namespace nrd::onload {
namespace {

constexpr std::string_view kNoMac = "00:00:00:00:00:00";

std::ptrdiff_t count_on(const std::string& pci, const std::vector<Interface>& interfaces) {
  return std::ranges::count(interfaces, pci, &Interface::pci);
}

bool is_it(const InterfaceWish& wish, const Interface& interface, const std::vector<Interface>& interfaces) {
  if (wish.pci != interface.pci) return false;
  const bool is_alone = !wish.pci.empty() && count_on(wish.pci, interfaces) == 1;
  return is_alone || wish.mac == interface.mac;
}

}  // namespace

// The name of an interface may have dots itself.
std::string subject_of(const std::string& interface, InterfaceSwitch what) {
  return interface + "." + std::string(word_of(what));
}

InterfaceSubject parse_subject(const std::string& subject) {
  const size_t dot = subject.rfind('.');
  return {subject.substr(0, dot), *parse<InterfaceSwitch>(std::string_view(subject).substr(dot + 1))};
}

const Interface* find(const InterfaceWish& wish, const std::vector<Interface>& interfaces) {
  const auto found =
      std::ranges::find_if(interfaces, [&](const Interface& interface) { return is_it(wish, interface, interfaces); });
  return found == interfaces.end() ? nullptr : &*found;
}

const InterfaceWish* find(const std::vector<InterfaceWish>& wishes, const Interface& interface,
                          const std::vector<Interface>& interfaces) {
  const auto found =
      std::ranges::find_if(wishes, [&](const InterfaceWish& wish) { return is_it(wish, interface, interfaces); });
  return found == wishes.end() ? nullptr : &*found;
}

Result<InterfaceWish> known_by(const Interface& interface, const std::vector<Interface>& interfaces) {
  const auto is_like_it = [&](const Interface& other) {
    return other.pci == interface.pci && other.mac == interface.mac;
  };
  const bool has_place = !interface.pci.empty() && count_on(interface.pci, interfaces) == 1;
  const bool has_mac = !interface.mac.empty() && interface.mac != kNoMac;
  if (has_place || (has_mac && std::ranges::count_if(interfaces, is_like_it) == 1)) {
    return InterfaceWish{.pci = interface.pci, .mac = interface.mac, .accelerated = {}, .registered = {}};
  }
  return fail(ErrorCode::Conflict, "network interface " + interface.name +
                                       " has neither a place on PCI nor a MAC to itself, by which it could be known");
}

std::vector<InterfaceChange> changes_for(const std::vector<InterfaceWish>& wishes,
                                         const std::vector<Interface>& interfaces) {
  std::vector<InterfaceChange> changes;
  for (const InterfaceWish& wish : wishes) {
    const Interface* interface = find(wish, interfaces);
    if (interface == nullptr) continue;
    if (wish.registered == true && !interface->afxdp) {
      changes.push_back({interface->name, InterfaceSwitch::Afxdp, Turned::On});
    }
    // Registering may be what gives it the switch.
    if (wish.accelerated && interface->accelerated && *wish.accelerated != *interface->accelerated) {
      const Turned to = *wish.accelerated ? Turned::On : Turned::Off;
      changes.push_back({interface->name, InterfaceSwitch::Acceleration, to});
    }
  }
  return changes;
}

std::vector<NotedInterface> interfaces_of_driver(const std::vector<Interface>& interfaces) {
  std::vector<NotedInterface> noted;
  for (const Interface& interface : interfaces) {
    if (is_of_driver(interface.driver_module)) noted.push_back({interface.pci, interface.mac, interface.name});
  }
  return noted;
}

}  // namespace nrd::onload
