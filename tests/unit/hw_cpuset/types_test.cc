#include "hw/cpuset/types.h"

#include <doctest/doctest.h>

#include <string>

namespace nrd::cpuset::types_test {

TEST_CASE("services and scopes have names as systemd accepts them") {
  for (const char* name : {"feed.service", "a@b.service", "x-y_z:1.scope", "dev-disk\\x2d1.service"}) {
    CAPTURE(name);
    CHECK(is_unit_name(name));
  }
  for (const char* name : {"", "feed", ".service", "@x.service", "a b.service", "../x.service", "a/b.service",
                           "x.slice", "x.socket", "x\n.service"}) {
    CAPTURE(name);
    CHECK_FALSE(is_unit_name(name));
  }
  CHECK_FALSE(is_unit_name(std::string(250, 'x') + ".service"));
}

TEST_CASE("the path of a cgroup stays below the root") {
  for (const char* path : {"/x", "/x/y", "/a.slice/b-c.scope",
                           "/.."
                           "x"}) {
    CAPTURE(path);
    CHECK(is_cgroup_path(path));
  }
  for (const char* path : {"", "/", "x", "/x/", "//x", "/x//y", "/..", "/x/../y", "/x/.", "/a b", "/x\n"}) {
    CAPTURE(path);
    CHECK_FALSE(is_cgroup_path(path));
  }
  CHECK_FALSE(is_cgroup_path("/" + std::string(1024, 'x')));
}

}  // namespace nrd::cpuset::types_test
