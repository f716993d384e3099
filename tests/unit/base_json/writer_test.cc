#include "base/json/writer.h"

#include <doctest/doctest.h>

#include "base/json/reader.h"

namespace nrd::writer_test {

using nrd::json::parse;
using nrd::json::quoted;
using nrd::json::Writer;

TEST_CASE("commas stand between values and nowhere else") {
  Writer w;
  w.begin_object();
  w.key("a").begin_array().number(1).string("x").begin_array().end_array().null().end_array();
  w.key("b").begin_object().end_object();
  w.key("c").boolean(false).key("d").raw("1.50");
  w.end_object();
  CHECK(w.text() == R"({"a":[1,"x",[],null],"b":{},"c":false,"d":1.50})");
}

TEST_CASE("a string with any bytes is written as valid JSON on one line") {
  for (const std::string text :
       {"a\"b\\c", "\n\r\t\x01\x7f", "\xff\xc3", "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\xc3\xa4"}) {
    const std::string json = quoted(text);
    CHECK(json.find('\n') == std::string::npos);
    CHECK(parse(json));
  }
  CHECK(*parse(quoted("\xc3\xa4\n\x7f"))->as_string() == "\xc3\xa4\n\x7f");
  CHECK(quoted("\xff") == "\"\xef\xbf\xbd\"");
}

TEST_CASE("a long text is truncated at a character boundary") {
  CHECK(quoted("abcdef", 3) == "\"abc...\"");
  CHECK(quoted("ab\xc3\xa4z", 3) == "\"ab...\"");
  CHECK(quoted("abc", 3) == "\"abc\"");
}

}  // namespace nrd::writer_test
