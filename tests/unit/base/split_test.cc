#include "base/split.h"

#include <doctest/doctest.h>

namespace nrd::split_test {

TEST_CASE("a text is split at each of the separators, without empty parts") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("cpuset cpu\nio\n", " \n") == Parts{"cpuset", "cpu", "io"});
  CHECK(split(",,a,,b", ",") == Parts{"a", "b"});
  CHECK(split("a", ",") == Parts{"a"});
  CHECK(split("", ",").empty());
  CHECK(split(",", ",").empty());
}

}  // namespace nrd::split_test
