#include "hw/onload/profiles/arithmetic.h"

#include <doctest/doctest.h>

#include <map>
#include <ostream>

#include "tests/unit/hw_onload_profiles/stopped.h"

namespace nrd::profiles::arithmetic_test {
namespace {

const Location kLocation{.file = "p.opf", .line = 7};

std::optional<std::string> value_of(const std::string& name) {
  static const std::map<std::string, std::string> kValues{{"ONE", "1"},    {"MINUS", "-4"},
                                                          {"HEX", "0x10"}, {"WORD", "eth0"},
                                                          {"SUM", "1+2"},  {"LEAST", "-9223372036854775807"}};
  const auto found = kValues.find(name);
  return found == kValues.end() ? std::nullopt : std::optional(found->second);
}

// "14", "wrong: …" or "needs a shell: …".
std::string computed(const std::string& text) {
  const auto parsed = parse_arithmetic(text + "))rest", kLocation);
  if (!parsed) return text_of(parsed.error());
  if (parsed->text.size() != text.size() + 2) return "read " + std::to_string(parsed->text.size()) + " characters";
  const auto result = result_of(*parsed, value_of, kLocation);
  return result ? std::to_string(*result) : text_of(result.error());
}

}  // namespace

TEST_CASE("arithmetic gives a shell's results") {
  const std::map<std::string, std::string> results{{"2+3*4", "14"},
                                                   {"(2+3)*4", "20"},
                                                   {"10-4-3", "3"},
                                                   {"100/7/2", "7"},
                                                   {"100 % 7", "2"},
                                                   {"-7/2", "-3"},
                                                   {"-7%3", "-1"},
                                                   {"7 - -2", "9"},
                                                   {" ( 180000*16 ) / $ONE ", "2880000"},
                                                   {"(180000*32) / ${MINUS}", "-1440000"},
                                                   {"ONE+ONE", "2"},
                                                   {"3-$MINUS", "7"},
                                                   {"+ - + 5", "-5"},
                                                   {"0x1F+010", "39"},
                                                   {"$HEX\n*\t2", "32"},
                                                   {"9223372036854775807", "9223372036854775807"},
                                                   {"$LEAST - 1", "-9223372036854775808"}};
  for (const auto& [text, result] : results) {
    INFO(text);
    CHECK(computed(text) == result);
  }
}

TEST_CASE("a 64-bit overflow is refused") {
  for (const char* text : {"9223372036854775807 + 1", "$LEAST - 2", "4294967296 * 4294967296", "($LEAST - 1) / -1",
                           "($LEAST - 1) % -1", "-($LEAST - 1)"}) {
    INFO(text);
    CHECK(computed(text) == "wrong: p.opf:7: arithmetic: the result does not fit in 64 bits");
  }
  CHECK(computed("9223372036854775808") == "wrong: p.opf:7: arithmetic: `9223372036854775808` is not a 64-bit integer");
}

TEST_CASE("division by zero is refused") {
  CHECK(computed("1 / (ONE - 1)") == "wrong: p.opf:7: arithmetic: division by zero");
  CHECK(computed("1 % 0") == "wrong: p.opf:7: arithmetic: division by zero");
}

TEST_CASE("a name without a number is reported") {
  CHECK(computed("1 / $EF_CLUSTER_SIZE") == "wrong: p.opf:7: EF_CLUSTER_SIZE is not set");
  CHECK(computed("$WORD + 1") == "wrong: p.opf:7: arithmetic: WORD is `eth0`, not a 64-bit integer");
  CHECK(computed("$SUM * 2") == "wrong: p.opf:7: arithmetic: SUM is `1+2`, not a 64-bit integer");
}

TEST_CASE("invalid arithmetic is refused with what was expected") {
  const std::map<std::string, std::string> messages{{"", "expected a number, a name or `(` before `))rest`"},
                                                    {"1 +", "expected a number, a name or `(` before `))rest`"},
                                                    {"* 2", "expected a number, a name or `(` before `* 2))rest`"},
                                                    {"1 // 2", "expected a number, a name or `(` before `/ 2))rest`"},
                                                    {"1 2", "expected an operator or `))` before `2))rest`"},
                                                    {"08", "`08` is not a 64-bit integer"},
                                                    {"0x", "`0x` is not a 64-bit integer"},
                                                    {"1k", "`1k` is not a 64-bit integer"},
                                                    {"0x-1", "`0x` is not a 64-bit integer"}};
  for (const auto& [text, message] : messages) {
    INFO(text);
    CHECK(computed(text) == "wrong: p.opf:7: arithmetic: " + message);
  }
  CHECK(text_of(parse_arithmetic("(1))", kLocation).error()) ==
        "wrong: p.opf:7: arithmetic: expected an operator or `))` before `)`");
  CHECK(text_of(parse_arithmetic("1 + 2", kLocation).error()) == "wrong: p.opf:7: `$((` is not closed by `))`");
}

TEST_CASE("other shell operators and expansions need a shell") {
  const std::map<std::string, std::string> found{
      {"1 << 2", "`<`"}, {"ONE == 1", "`=`"}, {"ONE = 2", "`=`"},   {"ONE += 2", "`+=`"},  {"2 ** 3", "`**`"},
      {"--ONE", "`--`"}, {"ONE++", "`++`"},   {"!ONE", "`!`"},      {"~1", "`~`"},         {"1 ? 2 : 3", "`?`"},
      {"1 & 2", "`&`"},  {"1 | 2", "`|`"},    {"1, 2", "`,`"},      {"$(nproc)", "`$`"},   {"`nproc`", "```"},
      {"\"1\"", "`\"`"}, {"$1 + 2", "`$`"},   {"${ONE:-2}", "`$`"}, {"$((1)) + 1", "`$`"}, {"16#ff", "`#`"}};
  for (const auto& [text, what] : found) {
    INFO(text);
    CHECK(computed(text) == "needs a shell: p.opf:7: " + what + " in arithmetic");
  }
}

TEST_CASE("brackets and signs nest 32 deep at most") {
  CHECK(computed(std::string(32, '(') + "1" + std::string(32, ')')) == "1");
  const std::string message = "wrong: p.opf:7: arithmetic: parentheses and signs are nested deeper than 32";
  CHECK(computed(std::string(33, '(') + "1" + std::string(33, ')')) == message);
  CHECK(computed(std::string(60000, '(')) == message);
  std::string signs;
  for (int i = 0; i < 33; ++i) signs += "- ";
  CHECK(computed(signs + "1") == message);
}

}  // namespace nrd::profiles::arithmetic_test
