#include "engine/onload/interface_spec.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/find_in.h"
#include "engine/onload/enum_names.h"
#include "engine/onload/target.h"

namespace nrd::onload {
namespace {

constexpr std::string_view kNoMac = "00:00:00:00:00:00";

std::ptrdiff_t count_on(const std::string& pci, const std::vector<Interface>& interfaces) {
  return std::ranges::count(interfaces, pci, &Interface::pci);
}

bool is_it(const InterfaceSpec& spec, const Interface& interface, const std::vector<Interface>& interfaces) {
  if (spec.pci != interface.pci) return false;
  const bool is_alone = !spec.pci.empty() && count_on(spec.pci, interfaces) == 1;
  return is_alone || spec.mac == interface.mac;
}

}  // namespace

// Split at the last dot: interface names may contain dots.
std::string subject_of(const std::string& interface, InterfaceSwitch what) {
  return interface + "." + std::string(json::name_of(what));
}

InterfaceSubject parse_subject(const std::string& subject) {
  const size_t dot = subject.rfind('.');
  return {subject.substr(0, dot), *json::parse_name<InterfaceSwitch>(std::string_view(subject).substr(dot + 1))};
}

const Interface* find(const InterfaceSpec& spec, const std::vector<Interface>& interfaces) {
  return first_if(interfaces, [&](const Interface& interface) { return is_it(spec, interface, interfaces); });
}

const InterfaceSpec* find(const std::vector<InterfaceSpec>& specs, const Interface& interface,
                          const std::vector<Interface>& interfaces) {
  return first_if(specs, [&](const InterfaceSpec& spec) { return is_it(spec, interface, interfaces); });
}

Result<InterfaceSpec> known_by(const Interface& interface, const std::vector<Interface>& interfaces) {
  const auto is_like_it = [&](const Interface& other) {
    return other.pci == interface.pci && other.mac == interface.mac;
  };
  const bool has_place = !interface.pci.empty() && count_on(interface.pci, interfaces) == 1;
  const bool has_mac = !interface.mac.empty() && interface.mac != kNoMac;
  if (has_place || (has_mac && std::ranges::count_if(interfaces, is_like_it) == 1)) {
    return InterfaceSpec{.pci = interface.pci, .mac = interface.mac, .accelerated = {}, .registered = {}};
  }
  return fail(
      ErrorCode::Conflict,
      fmt::format("network interface {} has neither a PCI address nor a unique MAC to identify it", interface.name));
}

std::vector<InterfaceChange> changes_for(const std::vector<InterfaceSpec>& specs,
                                         const std::vector<Interface>& interfaces) {
  std::vector<InterfaceChange> changes;
  for (const InterfaceSpec& spec : specs) {
    const Interface* interface = find(spec, interfaces);
    if (interface == nullptr) continue;
    if (spec.registered == true && !interface->afxdp) {
      changes.push_back({interface->name, InterfaceSwitch::Afxdp, SwitchState::On});
    }
    // Registration may create the acceleration setting.
    if (spec.accelerated && interface->accelerated && *spec.accelerated != *interface->accelerated) {
      const SwitchState to = *spec.accelerated ? SwitchState::On : SwitchState::Off;
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
