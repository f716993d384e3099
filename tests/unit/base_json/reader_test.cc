#include "base/json/reader.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "base/json/writer.h"

namespace nrd::reader_test {

using nrd::json::kMaxDepth;
using nrd::json::kMaxNodes;
using nrd::json::parse;
using nrd::json::Value;

namespace {

std::string message_of(const std::string& text) {
  const auto parsed = parse(text);
  return parsed ? "accepted" : parsed.error().message;
}

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("every kind of value is parsed") {
  const auto parsed = parse(R"( {"n": null, "b": true, "i": 12, "s": "\u00e4\n", "a": [1, []], "o": {}} )");
  REQUIRE(parsed);
  const Value wanted = Value::object({{"n", Value::null()},
                                      {"b", Value::boolean(true)},
                                      {"i", Value::number("12")},
                                      {"s", Value::string("\xc3\xa4\n")},
                                      {"a", Value::array({Value::number("1"), Value::array({})})},
                                      {"o", Value::object({})}});
  CHECK(*parsed == wanted);
}

TEST_CASE("a number keeps its literal and is an integer only if it is written as one") {
  struct Row {
    std::string text;
    std::optional<uint64_t> integer;
    std::optional<double> real;
  };
  const Row rows[] = {
      {"0", 0, 0.0},
      {"18446744073709551615", 18446744073709551615u, 18446744073709551615.0},
      {"18446744073709551616", std::nullopt, 18446744073709551616.0},
      {"-1", std::nullopt, -1.0},
      {"-0", std::nullopt, 0.0},
      {"2.0", std::nullopt, 2.0},
      {"2.5", std::nullopt, 2.5},
      {"2e0", std::nullopt, 2.0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto parsed = parse(row.text);
    REQUIRE(parsed);
    CHECK(*parsed->literal() == row.text);
    CHECK(parsed->as_unsigned() == row.integer);
    CHECK(parsed->as_double() == row.real);
  }
}

TEST_CASE("an accessor of the wrong type returns nothing") {
  const auto text = parse(R"("12")");
  REQUIRE(text);
  CHECK_FALSE(text->as_unsigned());
  CHECK_FALSE(text->as_double());
  CHECK_FALSE(text->as_bool());
  CHECK(text->items().empty());
  CHECK(text->members().empty());
  CHECK(text->find("a") == nullptr);
  CHECK(parse("12")->as_string() == nullptr);
}

TEST_CASE("errors contain the byte offset") {
  struct Row {
    std::string text;
    const char* message;
  };
  const Row rows[] = {
      {"", "the body is empty; expected a JSON value"},
      {" \r\n\t", "the body is empty; expected a JSON value"},
      {R"({"a": 1)", "invalid JSON: unexpected end (byte 7)"},
      {R"({"a":)", "invalid JSON: unexpected end (byte 5)"},
      {R"(["a)", "invalid JSON: unexpected end (byte 3)"},
      {R"({"a": 1} x)", "invalid JSON: unexpected text after the value (byte 9)"},
      {"{} {}", "invalid JSON: unexpected text after the value (byte 3)"},
      {R"({"a": 1, "a": 2})", "invalid JSON: the key occurs twice in its object (byte 12)"},
      {R"({a: 1})", "invalid JSON: expected a key in double quotes (byte 1)"},
      {R"({"a" 1})", "invalid JSON: expected ':' after a key (byte 5)"},
      {R"([1 2])", "invalid JSON: expected ',' or ']' (byte 3)"},
      {R"([1,])", "invalid JSON: expected a JSON value (byte 3)"},
      {R"([NaN])", "invalid JSON: expected a JSON value (byte 1)"},
      {R"(['a'])", "invalid JSON: expected a JSON value (byte 1)"},
      {R"([1.])", "invalid JSON: a number has no digits after its '.' (byte 3)"},
      {"[1e999]", "invalid JSON: a number is out of range (byte 1)"},
      {R"(["\x"])", "invalid JSON: a string contains an unknown escape or a control character (byte 2)"},
      {R"(["\u0000"])", "invalid JSON: a string contains the character \\u0000 (byte 9)"},
      {R"(["\ud800"])", "invalid JSON: a \\u escape is half of a surrogate pair (byte 2)"},
      {"\xef\xbb\xbf{}", "invalid JSON: expected a JSON value (byte 0)"},
      {std::string("{}\0{}", 5), "invalid JSON: a NUL byte (byte 2)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(message_of(row.text) == row.message);
  }
}

TEST_CASE("the error for a duplicate key has its pointer at any depth") {
  const auto parsed = parse(R"({"rdt": {"cache": {"max": 1, "max": 2}}})");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().field == "/rdt/cache/max");
  CHECK(parse(R"([{"a": 1}, {"a": 1}])"));
}

TEST_CASE("the error for a long duplicate key has the beginning of it") {
  const std::string key(1000, 'k');
  const auto parsed = parse("{\"" + key + "\": 1, \"" + key + "\": 2}");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().field == "/" + key.substr(0, nrd::json::kQuoted));
}

TEST_CASE("strings that are not UTF-8 are refused") {
  for (const std::string bytes : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc3"}) {
    CHECK(message_of("[\"" + bytes + "\"]").starts_with("invalid JSON: a string is not valid UTF-8"));
    CHECK(message_of("{\"" + bytes + "\": 1}").starts_with("invalid JSON: a string is not valid UTF-8"));
  }
}

TEST_CASE("nesting beyond the limit is refused, however deep") {
  CHECK(parse(repeated("[", kMaxDepth) + repeated("]", kMaxDepth)));
  const std::string too_deep = "nested more than 32 levels deep";
  CHECK(message_of(repeated("[", kMaxDepth + 1) + repeated("]", kMaxDepth + 1)).find(too_deep) != std::string::npos);
  CHECK(message_of(repeated("[", 1'000'000)).find(too_deep) != std::string::npos);
  CHECK(message_of(repeated("{\"a\":", 100'000)).find(too_deep) != std::string::npos);
}

TEST_CASE("the number of values is bounded exactly") {
  CHECK(parse("[" + repeated("1,", kMaxNodes - 2) + "1]"));
  CHECK(message_of("[" + repeated("1,", kMaxNodes - 1) + "1]").find("more than 16384 values") != std::string::npos);
}

TEST_CASE("a pointer escapes its separators") {
  CHECK(nrd::json::pointer("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(nrd::json::pointer("/core_ids", size_t{3}) == "/core_ids/3");
}

}  // namespace nrd::reader_test
