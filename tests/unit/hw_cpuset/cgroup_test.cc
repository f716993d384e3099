#include "hw/cpuset/cgroup.h"

#include <doctest/doctest.h>

namespace nrd::cpuset::cgroup_test {

TEST_CASE("a refused change of a cgroup names the file") {
  const Result<void> refused = write_to_file("/nrd-test-that-is-not-there", "cpu.weight", "200");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == "cannot change cpu.weight of cgroup /nrd-test-that-is-not-there");
  CHECK(refused.error().detail == "/sys/fs/cgroup/nrd-test-that-is-not-there/cpu.weight: No such file or directory");
}

}  // namespace nrd::cpuset::cgroup_test
