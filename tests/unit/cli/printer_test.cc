#include "cli/printer.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::cli::printer_test {

TEST_CASE("text of any language, line ends and tabs are printed unchanged") {
  for (const char* text : {"", "a\tb\nc", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x90\xa7", "a~!"})
    CHECK(printable(text) == text);
}

TEST_CASE("no control character is printed, in seven bits, in eight or in UTF-8") {
  CHECK(printable("\x1b[2J") == "?[2J");
  CHECK(printable("a\rb\x7f\x07") == "a?b??");
  CHECK(printable("\xc2\x9b"
                  "2J") == "?2J");
  CHECK(printable("\x9b"
                  "2J") == "?2J");
  CHECK(printable(std::string_view("\0", 1)) == "?");
  CHECK(printable("\xc3") == "?");
  CHECK(printable("\xe2\x82"
                  "a") == "??a");
  CHECK(printable("\xc0\x9b") == "??");
  CHECK(printable("\xc2\x41") == "?A");
}

TEST_CASE("no character is printed that shows others in another order or line") {
  for (const char* text :
       {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"})
    CHECK(printable(text) == "?");
  for (const char* text : {"\xd8\x9b", "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x81\xa5"})
    CHECK(printable(text) == text);
  CHECK(printable_json("\"\xe2\x80\xae\"") == "\"\\u202e\"");
}

TEST_CASE("sanitised JSON keeps its meaning") {
  const std::string text =
      "{\"comm\": \"\xc2\x9b"
      "2J\x7f gr\xc3\xbc\xc3\x9f\"}";
  CHECK(printable_json(text) == "{\"comm\": \"\\u009b2J\\u007f gr\xc3\xbc\xc3\x9f\"}");
  CHECK(*json::parse(printable_json(text))->find("comm")->as_string() == *json::parse(text)->find("comm")->as_string());
  CHECK(printable_json("{\r\n\t}\x1b[2J\x9b") == "{ \n\t}?[2J?");
}

}  // namespace nrd::cli::printer_test
