#include "hw/onload/stacks.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::stacks_test {

using nrd::testing::Tree;

namespace {

constexpr const char* kVersion =
    "onload_product: Onload\nonload_version: 8.1.2.26\nuk_intf_ver: 0123456789abcdef0123456789abcdef\n";
constexpr const char* kUsed = "proc/driver/onload/stacks_ul";
constexpr const char* kOrphans = "proc/driver/onload/stacks_k";

}  // namespace

TEST_CASE("stacks are parsed with any number of counters") {
  const Stack stack{.id = 3, .creator = 4711, .uid = 1000, .orphan = false};
  CHECK(parse_stacks("3: 4711 1000\n", false) == std::vector<Stack>{stack});
  CHECK(parse_stacks("3: 4711 1000 0 0 18446744073709551615\n", false) == std::vector<Stack>{stack});
  CHECK(parse_stacks("3: 4711 1000 0 \n", false) == std::vector<Stack>{stack});
  CHECK(parse_stacks("", false) == std::vector<Stack>{});
}

TEST_CASE("a user above half of all numbers is printed as a negative one") {
  const auto stacks = parse_stacks("3: 4711 -2 0\n4: 4712 4294967294\n", false);
  REQUIRE(stacks.has_value());
  for (const Stack& stack : *stacks) CHECK(stack.uid == 4294967294);
  for (const char* text : {"3: 4711 -2147483649\n", "3: 4711 4294967296\n"})
    CHECK(parse_stacks(text, false) == std::nullopt);
}

TEST_CASE("a truncated or malformed list of stacks is refused") {
  for (const char* text : {"3", "3: 4711 1000", "3: 4711\n", "3 4711 1000\n", ": 4711 1000\n", "-3: 4711 1000\n",
                           "3: -1 1000\n", "3: 4711 root\n", "3: 4711 1000 x\n", "\n", "3: 4711 1000\n4: 1"}) {
    INFO("\"" << text << "\"");
    CHECK(parse_stacks(text, false) == std::nullopt);
  }
}

TEST_CASE("stacks are ordered by id, and one that dies meanwhile counts once, as used") {
  Tree tree;
  tree.put(kUsed, "7: 300 0 1 2\n2: 100 1000 1 2\n");
  tree.put(kOrphans, "2: 0 1000 1 2\n1: 0 1000 1 2\n");
  CHECK(read_stacks(tree.root()).value() == std::vector<Stack>{{.id = 1, .creator = 0, .uid = 1000, .orphan = true},
                                                               {.id = 2, .creator = 100, .uid = 1000, .orphan = false},
                                                               {.id = 7, .creator = 300, .uid = 0, .orphan = false}});
}

TEST_CASE("without the module there are no stacks and no version") {
  const Tree tree;
  CHECK(read_stacks(tree.root()).value().empty());
  CHECK(read_interface_version(tree.root()).value() == std::nullopt);
}

TEST_CASE("a malformed list of stacks is an error, not an empty list") {
  for (const char* file : {kUsed, kOrphans}) {
    Tree tree;
    tree.put(kUsed, "");
    tree.put(kOrphans, "");
    CHECK(read_stacks(tree.root()).value().empty());
    tree.put(file, "3: 47");
    const auto stacks = read_stacks(tree.root());
    REQUIRE_FALSE(stacks.has_value());
    CHECK(stacks.error().code == ErrorCode::Hardware);
    CHECK(stacks.error().detail.find(file) != std::string::npos);
  }
}

TEST_CASE("the interface version has at least three lines") {
  const InterfaceVersion version{"Onload", "8.1.2.26", "0123456789abcdef0123456789abcdef"};
  CHECK(parse_interface_version(kVersion) == version);
  CHECK(parse_interface_version(std::string(kVersion) + "more: 1\n") == version);
  Tree tree;
  tree.put("proc/driver/onload/version", kVersion);
  CHECK(read_interface_version(tree.root()).value() == version);
}

TEST_CASE("an empty or truncated version is refused") {
  const std::string whole = kVersion;
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " bytes");
    CHECK(parse_interface_version(whole.substr(0, size)) == std::nullopt);
  }
  Tree tree;
  tree.put("proc/driver/onload/version", "");
  CHECK_FALSE(read_interface_version(tree.root()).has_value());
}

}  // namespace nrd::onload::stacks_test
