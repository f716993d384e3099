#include "hw/rdt/mount_namespace.h"

#include <doctest/doctest.h>

#include <string>

namespace nrd::rdt::mount_namespace_test {
namespace {

constexpr std::string_view kTree = "/sys/fs/resctrl";

// As Debian 12 shows them on the host, and in nrd.service.
const std::string kHost =
    "23 27 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw\n"
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "31 23 0:27 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
const std::string kService =
    "340 339 254:0 / / ro,relatime shared:170 master:1 - ext4 /dev/vda rw\n"
    "371 340 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:188 master:7 - sysfs sysfs rw\n"
    "372 371 0:27 / /sys/fs/cgroup ro,relatime shared:189 master:9 - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("a mount in the host's namespace is visible to the host, shared or not") {
  CHECK(propagates(kHost, kHost, kTree));
  const std::string unshared = "23 27 0:22 / /sys rw - sysfs sysfs rw\n27 1 254:0 / / rw - ext4 /dev/vda rw\n";
  CHECK(propagates(unshared, unshared, kTree));
}

TEST_CASE("a mount in a service's namespace is not visible to the host") {
  CHECK_FALSE(propagates(kService, kHost, kTree));
  CHECK_FALSE(propagates("371 340 0:22 / /sys rw - sysfs sysfs rw\n", kHost, kTree));
}

TEST_CASE("a mount in a namespace whose /sys is a peer of the host's is visible to the host") {
  const std::string container =
      "340 339 0:30 / / rw - overlay overlay rw\n371 340 0:22 / /sys rw shared:7 - sysfs sysfs rw\n";
  CHECK(propagates(container, kHost, kTree));
}

TEST_CASE("peers of another mount than the one that holds the path do not count") {
  const std::string peer_of_root =
      "340 339 254:0 / / rw shared:1 - ext4 /dev/vda rw\n371 340 0:22 / /sys rw master:7 - sysfs sysfs rw\n";
  CHECK_FALSE(propagates(peer_of_root, kHost, kTree));
  const std::string with_similar_name = kHost + "40 23 0:50 / /sys/fs/res rw shared:50 - tmpfs tmpfs rw\n";
  CHECK(propagates(kHost, with_similar_name, kTree));
}

TEST_CASE("the mount below resctrl decides, and not resctrl itself") {
  const std::string resctrl = "/sys/fs/resctrl rw shared:99 - resctrl resctrl rw\n";
  CHECK(propagates(kHost + "50 23 0:40 / " + resctrl, kHost + "50 23 0:40 / " + resctrl, kTree));
  CHECK_FALSE(propagates(kService + "390 371 0:40 / " + resctrl, kHost + "50 23 0:40 / " + resctrl, kTree));
}

TEST_CASE("of two mounts on one mount point the upper one decides") {
  const std::string covered = kHost + "60 23 0:60 / /sys rw shared:60 - tmpfs tmpfs rw\n";
  CHECK_FALSE(propagates(covered, kHost, kTree));
  CHECK(propagates(covered, covered, kTree));
}

TEST_CASE("an empty or truncated mountinfo makes no mount visible") {
  CHECK_FALSE(propagates("", "", kTree));
  CHECK_FALSE(propagates("", kHost, kTree));
  CHECK_FALSE(propagates(kHost, "", kTree));
  for (const std::string text : {"\n", "23", "23 27 0:22 /", "23 27 0:22 / /"}) {
    INFO("mountinfo \"" << text << "\"");
    CHECK_FALSE(propagates(text, kHost, kTree));
  }
}

}  // namespace nrd::rdt::mount_namespace_test
