#include "hw/onload/build_id.h"

#include <doctest/doctest.h>

#include <ostream>

#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::build_id_test {

using nrd::testing::Tree;

TEST_CASE("a build id is found among the notes of a module") {
  const std::string note = Tree::note("\x12\x34\xab\xcd");
  CHECK(parse_build_id(note) == "1234abcd");
  const std::string other("\x05\0\0\0\x01\0\0\0\x03\0\0\0Linux\0\0\0\x07\0\0\0", 24);
  CHECK(parse_build_id(other + note) == "1234abcd");
  CHECK(parse_build_id(other) == std::nullopt);
  for (size_t size = 0; size < note.size(); ++size) {
    INFO(size << " bytes of a note");
    CHECK(parse_build_id(note.substr(0, size)) == std::nullopt);
  }
  CHECK(parse_build_id(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0GNU\0", 16)) == std::nullopt);
  CHECK(parse_build_id(std::string("\x04\0\0\0\0\0\0\0\x03\0\0\0GNU\0", 16)) == std::nullopt);
}

}  // namespace nrd::onload::build_id_test
