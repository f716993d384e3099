#include <doctest/doctest.h>

#include <ostream>

#include "hw/onload/interfaces.h"
#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::default_routes_test {

using nrd::testing::Tree;
using Names = std::set<std::string>;

namespace {

const std::string kHeading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT   \n";
const std::string kNone(32, '0');

std::string v6(const std::string& destination, const char* length, const char* flags, const char* interface) {
  return destination + " " + length + " " + kNone + " 00 " + kNone + " 00000400 00000003 00000000 " + flags +
         std::string("     ") + interface + "\n";
}

}  // namespace

TEST_CASE("a default route covers all addresses and is up") {
  CHECK(parse_routes(kHeading + "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0   \n" +
                     "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
                     "eth2\t00000000\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n" +
                     "eth3\t00000000\t00000000\t0002\t0\t0\t0\t00000000\t0\t0\t0\n" +
                     "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n") == Names{"eth0"});
  CHECK(parse_routes(kHeading) == Names{});
}

TEST_CASE("an IPv6 default route is distinguished from a reject route") {
  CHECK(parse_ipv6_routes(v6(kNone, "00", "00000003", "eth0") + v6(kNone, "00", "00200200", "lo") +
                          v6(kNone, "00", "00000201", "eth2") + v6(kNone, "80", "80200001", "lo") +
                          v6("fe80" + std::string(28, '0'), "00", "00000001", "eth3")) == Names{"eth0"});
  CHECK(parse_ipv6_routes("") == Names{});
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
  CHECK(read_default_routes(tree.root()).value() == Names{});
  tree.put("proc/net/route", kHeading + "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  tree.put("proc/net/ipv6_route", v6(kNone, "00", "00000003", "eth1"));
  CHECK(read_default_routes(tree.root()).value() == Names{"eth0", "eth1"});
  tree.put("proc/net/route", "");
  CHECK_FALSE(read_default_routes(tree.root()).has_value());
}

}  // namespace nrd::onload::default_routes_test
