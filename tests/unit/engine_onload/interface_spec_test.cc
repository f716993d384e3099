#include "engine/onload/interface_spec.h"

#include <doctest/doctest.h>

namespace nrd::onload::interface_spec_test {
namespace {

using Changes = std::vector<InterfaceChange>;

Interface a_port(const std::string& name, const std::string& pci, const std::string& mac) {
  return {.name = name, .pci = pci, .mac = mac, .driver_module = "sfc", .accelerated = true};
}
const Interface kFirst = a_port("eth0", "0000:03:00.0", "00:0f:53:00:00:01");
const Interface kSecond = a_port("eth1", "0000:03:00.1", "00:0f:53:00:00:02");

InterfaceSpec off(const Interface& of, const std::vector<Interface>& among) {
  InterfaceSpec spec = known_by(of, among).value();
  spec.accelerated = false;
  return spec;
}

}  // namespace

TEST_CASE("settings follow an interface to another name, and to another MAC at the same PCI address") {
  const InterfaceSpec spec = off(kFirst, {kFirst, kSecond});
  Interface renamed = kFirst;
  renamed.name = "enp3s0f0np0";
  CHECK(changes_for({spec}, {kSecond, renamed}) ==
        Changes{{"enp3s0f0np0", InterfaceSwitch::Acceleration, SwitchState::Off}});
  renamed.mac = "02:00:00:00:00:09";
  CHECK(find(spec, {kSecond, renamed})->name == "enp3s0f0np0");
  CHECK(find({spec}, renamed, {kSecond, renamed})->accelerated == false);
  CHECK(find(spec, {kSecond}) == nullptr);
}

TEST_CASE("the MAC distinguishes interfaces on one PCI function, or without PCI") {
  Interface twin = a_port("eth9", kFirst.pci, kSecond.mac);
  const std::vector<Interface> both = {kFirst, twin};
  CHECK(find(off(twin, both), both)->name == "eth9");
  const Interface veth{.name = "veth0", .pci = "", .mac = "02:00:00:00:00:07"};
  const std::vector<Interface> more = {{.name = "lo", .mac = "00:00:00:00:00:00"}, veth};
  CHECK(find(known_by(veth, more).value(), more)->name == "veth0");
}

TEST_CASE("an interface that cannot be identified is refused") {
  const Interface lo{.name = "lo", .mac = "00:00:00:00:00:00"};
  const Interface vlan{.name = "v.5", .mac = "02:00:00:00:00:07"};
  const Interface bridge{.name = "br0", .mac = "02:00:00:00:00:07"};
  CHECK(known_by(lo, {lo}).error().code == ErrorCode::Conflict);
  CHECK(known_by(vlan, {vlan, bridge}).error().message.find("v.5") != std::string::npos);
}

TEST_CASE("only settings that differ are changed") {
  InterfaceSpec spec = off(kFirst, {kFirst});
  spec.registered = true;
  CHECK(changes_for({spec}, {kFirst}) == Changes{{"eth0", InterfaceSwitch::Afxdp, SwitchState::On},
                                                 {"eth0", InterfaceSwitch::Acceleration, SwitchState::Off}});
  Interface so = kFirst;
  so.afxdp = true;
  so.accelerated = false;
  CHECK(changes_for({spec}, {so}).empty());
  spec.registered = false;  // the module never releases it, so it is not requested again and again
  CHECK(changes_for({spec}, {so}).empty());
  so.accelerated = std::nullopt;  // no switch yet
  CHECK(changes_for({spec}, {so}).empty());
}

TEST_CASE("a VLAN name keeps its dots in the subject of a step") {
  const InterfaceSubject subject = parse_subject(subject_of("eth0.100", InterfaceSwitch::Afxdp));
  CHECK(subject.interface == "eth0.100");
  CHECK(subject.what == InterfaceSwitch::Afxdp);
}

TEST_CASE("only interfaces of the driver are recorded") {
  const Interface other{.name = "ens4", .pci = "0000:00:04.0", .mac = "02:00:00:00:00:04", .driver_module = "ena"};
  CHECK(interfaces_of_driver({other, kFirst}) == std::vector<NotedInterface>{{kFirst.pci, kFirst.mac, "eth0"}});
}

}  // namespace nrd::onload::interface_spec_test
