#include "base/file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

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

}  // namespace nrd::file_test
