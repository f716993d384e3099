#include "hw/onload/interfaces.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

#include "tests/unit/hw_onload/cards.h"

namespace nrd::onload::interfaces_test {

using nrd::testing::Cards;
using nrd::testing::Tree;
using Names = std::vector<std::string>;
using Set = std::set<std::string>;

namespace {

Interface the(const Cards& cards, const std::string& name) {
  const std::vector<Interface> interfaces = read_interfaces(cards.root(), {}).value();
  for (const Interface& interface : interfaces) {
    if (interface.name == name) return interface;
  }
  FAIL("there is no " << name);
  return {};
}

Interface a_card(const char* name, const char* pci, const char* mac) { return {.name = name, .pci = pci, .mac = mac}; }

const std::string kHeading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT   \n";
const std::string kNone(32, '0');

std::string v6(const std::string& destination, const char* length, const char* flags, const char* interface) {
  return destination + " " + length + " " + kNone + " 00 " + kNone + " 00000400 00000003 00000000 " + flags +
         std::string("     ") + interface + "\n";
}

}  // namespace

TEST_CASE("a Solarflare card is described completely") {
  Cards cards;
  cards.solarflare("enp1s0f0", "0000:01:00.0", "00:0f:53:00:00:01");
  cards.put("sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/sfc_resource/enable", "1\n");
  cards.put("sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/sriov_numvfs", "4\n");
  cards.put("proc/driver/sfc_resource/devices/enp1s0f0/firewall_rules", "");
  cards.link(Cards::net("enp1s0f0", "upper_bond0"), "../bond0");
  cards.link(Cards::net("enp1s0f0", "upper_vlan7"), "../vlan7");
  CHECK(read_interfaces(cards.root(), {{"enp1s0f0", {"192.0.2.1/24"}}}).value() ==
        std::vector<Interface>{{.name = "enp1s0f0",
                                .pci = "0000:01:00.0",
                                .solarflare = true,
                                .mac = "00:0f:53:00:00:01",
                                .driver = "sfc",
                                .driver_module = "sfc",
                                .driver_version = "6.4.0.1002",
                                .speed = 25000,
                                .operstate = "up",
                                .accelerated = true,
                                .uppers = {"bond0", "vlan7"},
                                .addresses = {"192.0.2.1/24"},
                                .vfs = 4}});
}

TEST_CASE("an interface without a device has only name, MAC and state") {
  Cards cards;
  cards.virtual_one("lo");
  CHECK(the(cards, "lo") == Interface{.name = "lo", .mac = "02:00:00:00:00:01", .operstate = "unknown"});
}

TEST_CASE("an interface that was registered again has another index") {
  Cards cards;
  cards.virtual_one("veth0");
  cards.put(Cards::net("veth0", "ifindex"), "7\n");
  CHECK(the(cards, "veth0").index == 7);
  cards.put(Cards::net("veth0", "ifindex"), "8\n");
  CHECK(the(cards, "veth0").index == 8);
}

TEST_CASE("a card behind another bus is identified by its PCI function") {
  Cards cards;
  cards.virtual_one("eth0");
  cards.folder("sys/devices/pci0000:00/0000:00:03.0/virtio2");
  cards.link(Cards::net("eth0", "device"), cards.path("sys/devices/pci0000:00/0000:00:03.0/virtio2"));
  CHECK(the(cards, "eth0").pci == "0000:00:03.0");
  CHECK_FALSE(the(cards, "eth0").solarflare);
}

TEST_CASE("an interface in a bond keeps its permanent MAC") {
  Cards cards;
  cards.solarflare("enp1s0f0", "0000:01:00.0", "00:0f:53:00:00:99");
  cards.put(Cards::net("enp1s0f0", "bonding_slave/perm_hwaddr"), "00:0f:53:00:00:01\n");
  CHECK(the(cards, "enp1s0f0").mac == "00:0f:53:00:00:01");
}

TEST_CASE("a default route counts for all interfaces below the one that has it") {
  Cards cards;
  cards.virtual_one("bond0");
  cards.virtual_one("br0");
  cards.virtual_one("lo");
  cards.solarflare("enp1s0f0", "0000:01:00.0", "00:0f:53:00:00:01");
  cards.link(Cards::net("enp1s0f0", "upper_bond0"), "../bond0");
  cards.link(Cards::net("bond0", "upper_br0"), "../br0");
  cards.default_route("br0");
  for (const char* name : {"br0", "bond0", "enp1s0f0"}) CHECK(the(cards, name).default_route);
  CHECK_FALSE(the(cards, "lo").default_route);
}

TEST_CASE("files that are not interfaces and vanished interfaces are skipped") {
  Cards cards;
  cards.virtual_one("lo");
  cards.put("sys/class/net/bonding_masters", "bond0\n");
  cards.link("sys/class/net/gone", "nowhere");
  CHECK(read_interfaces(cards.root(), {}).value().size() == 1);
  cards.remove("sys/class/net");
  CHECK(read_interfaces(cards.root(), {}).value().empty());
}

TEST_CASE("malformed essential data of an interface is an error") {
  for (const char* file : {"sys/class/net/enp1s0f0/address", "proc/net/route", "proc/net/ipv6_route",
                           "sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0/sriov_numvfs"}) {
    INFO(file);
    Cards cards;
    cards.solarflare("enp1s0f0", "0000:01:00.0", "00:0f:53:00:00:01");
    cards.put(file, "cut o");
    CHECK_FALSE(read_interfaces(cards.root(), {}).has_value());
  }
}

TEST_CASE("interfaces are matched by PCI address and MAC") {
  const std::vector<Interface> before = {a_card("eth0", "0000:01:00.0", "a"), a_card("eth1", "0000:01:00.1", "b"),
                                         a_card("eth2", "0000:02:00.0", "c"), a_card("lo", "", "d")};
  CHECK(changes_between(before, before) == InterfaceChanges{});
  const std::vector<Interface> after = {a_card("eth0np0", "0000:01:00.0", "a"), a_card("eth1", "0000:01:00.1", "b"),
                                        a_card("eth3", "0000:03:00.0", "e"), a_card("dummy0", "", "f")};
  CHECK(changes_between(before, after) == InterfaceChanges{.renamed = {{"eth0", "eth0np0"}}, .lost = {"eth2"}});
  CHECK(changes_between(before, {}).lost == Names{"eth0", "eth1", "eth2"});
}

TEST_CASE("swapped names are two renames") {
  CHECK(changes_between({a_card("eth0", "0000:01:00.0", "a"), a_card("eth1", "0000:01:00.1", "b")},
                        {a_card("eth1", "0000:01:00.0", "a"), a_card("eth0", "0000:01:00.1", "b")})
            .renamed == std::map<std::string, std::string>{{"eth0", "eth1"}, {"eth1", "eth0"}});
}

TEST_CASE("indistinguishable interfaces keep unchanged names") {
  const std::vector<Interface> before = {a_card("a", "0000:01:00.0", "x"), a_card("b", "0000:01:00.0", "x")};
  CHECK(changes_between(before, {a_card("b", "0000:01:00.0", "x"), a_card("c", "0000:01:00.0", "x")}) ==
        InterfaceChanges{.renamed = {{"a", "c"}}});
}

TEST_CASE("this host has at least one address") {
  const Addresses addresses = addresses_of_host().value();
  const auto loopback = addresses.find("lo");
  if (loopback == addresses.end()) return;  // a network namespace where even lo is down
  CHECK(std::any_of(loopback->second.begin(), loopback->second.end(),
                    [](const std::string& address) { return address == "127.0.0.1/8" || address == "::1/128"; }));
}

TEST_CASE("a default route covers all addresses and is up") {
  CHECK(parse_routes(kHeading + "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0   \n" +
                     "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
                     "eth2\t00000000\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n" +
                     "eth3\t00000000\t00000000\t0002\t0\t0\t0\t00000000\t0\t0\t0\n" +
                     "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n") == Set{"eth0"});
  CHECK(parse_routes(kHeading) == Set{});
}

TEST_CASE("an IPv6 default route is distinguished from a reject route") {
  CHECK(parse_ipv6_routes(v6(kNone, "00", "00000003", "eth0") + v6(kNone, "00", "00200200", "lo") +
                          v6(kNone, "00", "00000201", "eth2") + v6(kNone, "80", "80200001", "lo") +
                          v6("fe80" + std::string(28, '0'), "00", "00000001", "eth3")) == Set{"eth0"});
  CHECK(parse_ipv6_routes("") == Set{});
}

TEST_CASE("a truncated or malformed routing table is refused") {
  const std::string route = "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
  for (const std::string& text : {std::string(), route, kHeading + "eth0\t00000000\n", kHeading + "\n",
                                  kHeading + "eth0\t0000000x\t0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n",
                                  (kHeading + route).substr(0, kHeading.size() + route.size() - 1)}) {
    INFO("\"" << text << "\"");
    CHECK(parse_routes(text) == std::nullopt);
  }
  const std::string whole = v6(kNone, "00", "00000003", "eth0");
  for (const std::string& text : {std::string("\n"), whole.substr(0, whole.size() - 1), whole.substr(10),
                                  v6(kNone, "0x", "00000003", "eth0"), v6(kNone, "00", "y", "eth0")}) {
    INFO("\"" << text << "\"");
    CHECK(parse_ipv6_routes(text) == std::nullopt);
  }
}

TEST_CASE("IPv4 and IPv6 routes are read, and a missing table is skipped") {
  Tree tree;
  CHECK(read_default_routes(tree.root()).value() == Set{});
  tree.put("proc/net/route", kHeading + "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  tree.put("proc/net/ipv6_route", v6(kNone, "00", "00000003", "eth1"));
  CHECK(read_default_routes(tree.root()).value() == Set{"eth0", "eth1"});
  tree.put("proc/net/route", "");
  CHECK_FALSE(read_default_routes(tree.root()).has_value());
}

}  // namespace nrd::onload::interfaces_test
