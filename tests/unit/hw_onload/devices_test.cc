#include "hw/onload/devices.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ostream>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::devices_test {

using nrd::testing::Tree;

namespace {

constexpr const char* kNumber = "sys/class/onload/onload/dev";

// Without privileges only a character device with the number 0:0 can be created, so the tree uses it for onload.
void make_node(Tree& tree, const std::string& name, mode_t mode) {
  tree.folder("dev");
  REQUIRE(::mknod(tree.path("dev/" + name).c_str(), S_IFCHR, ::makedev(0, 0)) == 0);
  tree.mode("dev/" + name, mode);
}

Access ours(mode_t mode) { return {.uid = ::geteuid(), .gid = ::getegid(), .mode = mode}; }

DeviceNode onload(const Tree& tree) { return read_devices(tree.root()).value().front(); }

}  // namespace

TEST_CASE("a device number is parsed completely or not at all") {
  CHECK(parse_device_number("243:0") == DeviceNumber{243, 0});
  CHECK(parse_device_number("fe:0", 16) == DeviceNumber{254, 0});
  for (const char* text : {"", "\n", "243:0\n", "243", "243:", ":0", "243:0:1", "-1:0", "x:0", "243: 0"}) {
    INFO("\"" << text << "\"");
    CHECK(parse_device_number(text) == std::nullopt);
  }
}

TEST_CASE("a device reports its expected and its actual node") {
  Tree tree;
  make_node(tree, "onload", 0666);
  tree.put(kNumber, "0:0\n");
  const DeviceNode right{
      .name = "onload", .number = DeviceNumber{0, 0}, .node = NodeFile{DeviceNumber{0, 0}, ours(0666)}};
  CHECK(onload(tree) == right);
  CHECK(onload(tree).leads_to_device());
  tree.put(kNumber, "243:0\n");
  CHECK(onload(tree).number == DeviceNumber{243, 0});
  CHECK_FALSE(onload(tree).leads_to_device());
}

TEST_CASE("a missing module, a missing node and a wrong node are distinguished") {
  Tree tree;
  tree.folder("dev");
  CHECK(onload(tree) == DeviceNode{.name = "onload", .number = std::nullopt, .node = std::nullopt});
  tree.put(kNumber, "0:0\n");
  CHECK(onload(tree).number.has_value());
  CHECK_FALSE(onload(tree).node.has_value());
  tree.put("dev/onload", "");
  CHECK(onload(tree).node->number == std::nullopt);
  tree.link("dev/onload", "/dev/null");
  CHECK(onload(tree).node->number == std::nullopt);
  CHECK_FALSE(onload(tree).leads_to_device());
}

TEST_CASE("an empty or truncated device number is refused") {
  Tree tree;
  tree.folder("dev");
  for (const char* text : {"", "0:0", "0\n"}) {
    tree.put(kNumber, text);
    CHECK_FALSE(read_devices(tree.root()).has_value());
  }
}

TEST_CASE("device access is closed and restored") {
  Tree tree;
  make_node(tree, "onload", 0666);
  tree.put(kNumber, "0:0\n");
  CHECK(set_access(tree.root(), "onload", ours(0)).has_value());
  CHECK(onload(tree).node->access == ours(0));
  CHECK(set_access(tree.root(), "onload", ours(0)).has_value());
  CHECK(set_access(tree.root(), "onload", ours(0660)).has_value());
  CHECK(onload(tree).node->access == ours(0660));
}

TEST_CASE("a wrong device node is left untouched") {
  Tree tree;
  tree.put(kNumber, "0:0\n");
  const auto code = [&tree](const char* name) {
    const auto set = set_access(tree.root(), name, ours(0));
    REQUIRE_FALSE(set.has_value());
    return set.error().code;
  };
  tree.folder("dev");
  CHECK(code("onload") == ErrorCode::NotFound);
  tree.put("dev/onload", "");
  tree.mode("dev/onload", 0640);
  CHECK(code("onload") == ErrorCode::Hardware);
  CHECK(onload(tree).node->access.mode == 0640);

  tree.link("dev/onload", "target");
  make_node(tree, "target", 0666);
  CHECK(code("onload") == ErrorCode::Hardware);
  struct stat target {};
  REQUIRE(::stat(tree.path("dev/target").c_str(), &target) == 0);
  CHECK((target.st_mode & 0777) == 0666);

  tree.remove("dev/onload");
  make_node(tree, "onload", 0666);
  tree.put(kNumber, "243:0\n");
  CHECK(code("onload") == ErrorCode::Hardware);
  tree.remove(kNumber);
  CHECK(code("onload") == ErrorCode::NotFound);
  CHECK(onload(tree).node->access.mode == 0666);
  CHECK(code("null") == ErrorCode::BadRequest);
  CHECK(code("../dev/onload") == ErrorCode::BadRequest);
}

TEST_CASE("only permission bits are set") {
  Tree tree;
  make_node(tree, "onload", 0666);
  tree.put(kNumber, "0:0\n");
  CHECK(set_access(tree.root(), "onload", ours(04755)).error().code == ErrorCode::BadRequest);
  CHECK(onload(tree).node->access.mode == 0666);
}

}  // namespace nrd::onload::devices_test
