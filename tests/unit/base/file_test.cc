#include "base/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/temporary_tree.h"

namespace nrd::file_test {

using nrd::read_one_line;

namespace {

// What read_one_line() finds in a file with this content.
std::optional<std::string> one_line_of(const std::string& content) {
  char path[] = "/tmp/nrd-file-XXXXXX";
  ::close(::mkstemp(path));
  std::ofstream(path) << content;
  const auto text = read_one_line(path);
  ::unlink(path);
  REQUIRE(text);
  return *text;
}

}  // namespace

TEST_CASE("a file of one line is read whole, whatever its length") {
  const std::string block(4096, '7');
  const std::string longest_of_one_read = block.substr(1);
  for (const std::string& line :
       {std::string("0-3\n"), std::string("\n"), longest_of_one_read + "\n", block + "\n", block + block + "8\n"}) {
    CHECK(one_line_of(line) == line);
  }
}

TEST_CASE("a truncated line is returned as it is, and a missing file is none") {
  CHECK(one_line_of("0-") == "0-");
  CHECK(one_line_of("") == "");
  const auto gone = read_one_line("/tmp/nrd-file-that-is-not-there");
  REQUIRE(gone);
  CHECK_FALSE(*gone);
}

TEST_CASE("a value is written at the beginning of a file, and the errno of a refusal is returned") {
  const testing::TemporaryTree tree;
  const std::string file = tree.put("file", "800000\n");
  CHECK(write_value(file, "90").has_value());
  CHECK(tree.get("file") == "900000\n");
  CHECK(write_value(file, "7\n", O_TRUNC).has_value());
  CHECK(tree.get("file") == "7\n");
  tree.link("link", "file");
  CHECK(write_value(tree.path("link"), "8\n").error() == ELOOP);
  CHECK(write_value(tree.path("none"), "8\n").error() == ENOENT);
  CHECK(write_value("/dev/full", "8\n").error() == ENOSPC);
  CHECK(tree.get("file") == "7\n");
}

}  // namespace nrd::file_test
