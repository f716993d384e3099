#include "hw/onload/kernel_file.h"

#include <doctest/doctest.h>

#include <ostream>

#include "base/number.h"
#include "tests/unit/hw_onload/tree.h"

namespace nrd::onload::kernel_file_test {

using nrd::testing::Tree;
using Views = std::vector<std::string_view>;

TEST_CASE("a number must be the whole text") {
  CHECK(parse_number<uint32_t>("42") == 42);
  CHECK(parse_number<uint32_t>("2a", 16) == 42);
  CHECK(parse_number<int>("-1") == -1);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "0x1", "4294967296", "1.5"}) {
    INFO("\"" << text << "\"");
    CHECK(parse_number<uint32_t>(text) == std::nullopt);
  }
}

TEST_CASE("a text whose last line has no end is truncated") {
  CHECK(lines_of("a\nb c\n") == Views{"a", "b c"});
  CHECK(lines_of("\n\n") == Views{"", ""});
  CHECK(lines_of("") == Views{});
  CHECK(lines_of("a\nb") == std::nullopt);
  CHECK(fields_of("  a \t b\n") == Views{"a", "b"});
  CHECK(fields_of(" \n").empty());
}

TEST_CASE("exactly one line is accepted") {
  Tree tree;
  CHECK(read_line(tree.path("file")).value() == std::nullopt);
  tree.put("file", "live\n");
  CHECK(read_line(tree.path("file")).value() == "live");
  tree.put("file", "\n");
  CHECK(read_line(tree.path("file")).value() == "");
  for (const std::string& text : {std::string(), std::string("live"), std::string("a\nb\n"), std::string(5000, 'a')}) {
    tree.put("file", text);
    CHECK_FALSE(read_line(tree.path("file")).has_value());
  }
}

TEST_CASE("the errno of a write decides the error code") {
  Tree tree;
  CHECK(write_text(tree.path("none"), "1\n", "not taken").error().code == ErrorCode::NotFound);
  CHECK(write_text("/proc/self/oom_score_adj", "x\n", "not taken").error().code == ErrorCode::BadRequest);
  const Error full = write_text("/dev/full", "1\n", "not taken").error();
  CHECK(full.code == ErrorCode::Hardware);
  CHECK(full.message == "not taken");
  CHECK(full.detail.starts_with("/dev/full <- \"1"));
}

TEST_CASE("a text is not written through a link") {
  Tree tree;
  tree.put("target", "");
  tree.link("file", "target");
  CHECK_FALSE(write_text(tree.path("file"), "1\n", "not taken").has_value());
  CHECK(tree.get("target").empty());
}

TEST_CASE("a directory is listed in order, and a missing one is not an error") {
  Tree tree;
  tree.put("folder/b", "");
  tree.put("folder/a", "");
  CHECK(list_directory(tree.path("folder")).value() == std::vector<std::string>{"a", "b"});
  CHECK(list_directory(tree.path("none")).value().empty());
  CHECK(list_directory(tree.path("folder/a")).value().empty());
  CHECK(read_link(tree.path("folder/a")) == std::nullopt);
  tree.link("folder/c", "../x/y");
  CHECK(name_in(read_link(tree.path("folder/c")).value()) == "y");
}

}  // namespace nrd::onload::kernel_file_test
