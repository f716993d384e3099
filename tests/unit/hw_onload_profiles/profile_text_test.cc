#include "hw/onload/profiles/profile_text.h"

#include <doctest/doctest.h>

#include <map>
#include <ostream>

#include "hw/onload/profiles/variable.h"
#include "tests/unit/hw_onload_profiles/stopped.h"

namespace nrd::profiles::profile_text_test {
namespace {

std::string drawn(const Word& word) {
  std::string text;
  for (const Piece& piece : word.pieces) {
    if (const auto* plain = std::get_if<Text>(&piece)) text += "[" + plain->text + "]";
    if (const auto* name = std::get_if<Reference>(&piece))
      text += name->is_quoted ? "<\"" + name->name + "\">" : "<" + name->name + ">";
    if (std::holds_alternative<Arithmetic>(piece)) text += "<arithmetic>";
  }
  return text;
}

// "1 EF_X=[5], 2 import [throughput]"; "wrong: …"; "needs a shell: …".
std::string parsed(std::string_view text) {
  const auto read = parse_profile(text, "p.opf");
  if (!read) return text_of(read.error());
  std::string drawing;
  for (const Statement& statement : *read) {
    drawing += (drawing.empty() ? "" : ", ") + std::to_string(statement.location.line) + " ";
    if (const auto* set = std::get_if<Set>(&statement.act)) drawing += set->name + "=" + drawn(set->value);
    if (const auto* import = std::get_if<Import>(&statement.act)) drawing += "import " + drawn(import->profile);
  }
  return drawing;
}

}  // namespace

TEST_CASE("a profile consists of settings, imports, comments and empty lines") {
  CHECK(parsed("# a profile\n\n  onload_set EF_X 5   # why\n\tonload_set EF_Y=6\n##onload_set EF_Z 7\nonload_import "
               "base\n") == "3 EF_X=[5], 4 EF_Y=[6], 6 import [base]");
  CHECK(parsed("") == "");
  CHECK(parsed("\n") == "");
}

TEST_CASE("NAME=VALUE splits at the first equals sign") {
  CHECK(parsed("onload_set EF_SCALABLE_FILTERS=any=rss:active\n") == "1 EF_SCALABLE_FILTERS=[any=rss:active]");
  CHECK(parsed("onload_set EF_X==\n") == "1 EF_X=[=]");
  CHECK(parsed("onload_set EF_X=$EF_Y\n") == "1 EF_X=[]<EF_Y>");
  CHECK(parsed("onload_set 'EF_X=a b'\n") == "1 EF_X=[a b]");
}

TEST_CASE("an empty quoted string is a value") {
  CHECK(parsed("onload_set EF_X \"\"\n") == "1 EF_X=[]");
  CHECK(parsed("onload_set EF_X ''\n") == "1 EF_X=[]");
  CHECK(parsed("onload_set EF_X=\n") == "1 EF_X=[]");
}

TEST_CASE("words follow POSIX quoting") {
  const std::map<std::string, std::string> words{{R"('a $B \ "c"')", R"([a $B \ "c"])"},
                                                 {R"("a 'b' \" \\ \$ \` \z")", R"([a 'b' " \ $ ` \z])"},
                                                 {R"(a\ b\#\'\"\\c)", R"([a b#'"\c])"},
                                                 {R"(a'b'"c"d)", "[abcd]"},
                                                 {R"(a#b)", "[a#b]"},
                                                 {R"($A)", "<A>"},
                                                 {R"("$A")", "[]<\"A\">"},
                                                 {R"(x${A}y$B_2z)", "[x]<A>[y]<B_2z>"},
                                                 {R"("x $A.$B")", "[x ]<\"A\">[.]<\"B\">"},
                                                 {R"(5$)", "[5$]"},
                                                 {R"("$ 5 $")", "[$ 5 $]"},
                                                 {R"($((1+2))k)", "<arithmetic>[k]"},
                                                 {"\"$((1+2))\"", "[]<arithmetic>"},
                                                 {R"(a~b)", "[a~b]"},
                                                 {R"("~ * ? [a] {b}")", "[~ * ? [a] {b}]"},
                                                 {R"(\~\*)", "[~*]"},
                                                 {"caf\xc3\xa9", "[caf\xc3\xa9]"},
                                                 {"\"a\\\nb\"", "[ab]"},
                                                 {"a\\\nb", "[ab]"},
                                                 {"\\\n  a", "[a]"},
                                                 {"'a\nb'", "[a\nb]"}};
  for (const auto& [spelled, word] : words) {
    INFO(spelled);
    CHECK(parsed("onload_set EF_X " + spelled + "\n") == "1 EF_X=" + word);
  }
}

TEST_CASE("lines are counted through quotes, arithmetic and continuations") {
  CHECK(parsed("onload_set A 'a\n\n'\nonload_set B \"\\\n\"\nonload_set C $((1 +\n2))\n\\\n\nonload_set \\\nD "
               "1\nonload_set E 1\n") == "1 A=[a\n\n], 4 B=[], 6 C=<arithmetic>, 10 D=[1], 12 E=[1]");
}

TEST_CASE("arguments after an imported profile are left to its shell") {
  CHECK(parsed("onload_import throughput \"$@\" $1 -x '#' # y\n") == "1 import [throughput]");
  CHECK(parsed("onload_import \"$BASE\"\n") == "1 import []<\"BASE\">");
}

TEST_CASE("any other shell syntax makes the profile dynamic, with line and word") {
  const std::map<std::string, std::string> found{{"if [ -n \"$X\" ]; then", "`if`"},
                                                 {"for i in 1 2; do", "`for`"},
                                                 {"export EF_X=1", "`export`"},
                                                 {"num_workers=4", "`num_workers=4`"},
                                                 {"X=1 onload_set EF_X 1", "`X=1`"},
                                                 {"log hello", "`log`"},
                                                 {"\"onload_set\" EF_X 1", "`\"onload_set\"`"},
                                                 {"onload_sets EF_X 1", "`onload_sets`"},
                                                 {"(onload_set EF_X 1)", "`(`"},
                                                 {"; onload_set EF_X 1", "`;`"},
                                                 {"onload_set() {", "`(`"},
                                                 {"onload_set EF_X 1; onload_set EF_Y 2", "`;`"},
                                                 {"onload_set EF_X 1 && true", "`&`"},
                                                 {"onload_set EF_X 1 | cat", "`|`"},
                                                 {"onload_set EF_X 1 2>/dev/null", "`>`"},
                                                 {"onload_set EF_X $(nproc)", "command substitution"},
                                                 {"onload_set EF_X \"$(nproc)\"", "command substitution"},
                                                 {"onload_set EF_X `nproc`", "command substitution"},
                                                 {"onload_set EF_X \"`nproc`\"", "command substitution"},
                                                 {"onload_set EF_X ${EF_Y:-1}", "`${EF_Y:-1}`"},
                                                 {"onload_set EF_X ${#EF_Y}", "`${#EF_Y}`"},
                                                 {"onload_set EF_X ${}", "`${}`"},
                                                 {"onload_set EF_X $[1+1]", "`$[`"},
                                                 {"onload_set EF_X $'a'", "`$'`"},
                                                 {"onload_set EF_X $1", "`$1`"},
                                                 {"onload_set EF_X \"$@\"", "`$@`"},
                                                 {"onload_set EF_X ${1}", "`${1}`"},
                                                 {"onload_import $1", "`$1`"},
                                                 {"onload_set $NAME 1", "a computed name"},
                                                 {"onload_set \"EF_$NAME\" 1", "a computed name"},
                                                 {"onload_set $NAME", "a computed name"},
                                                 {"onload_set EF_X eth*", "an unquoted pattern, `*`"},
                                                 {"onload_set EF_X [ab]", "an unquoted pattern, `[`"},
                                                 {"onload_set EF_X {a,b}", "an unquoted pattern, `{`"},
                                                 {"onload_set EF_X ~/log", "tilde expansion, `~`"},
                                                 {"onload_set EF_X=~/log", "tilde expansion, `~`"},
                                                 {"onload_set EF_X $((1<<2))", "`<` in arithmetic"}};
  for (const auto& [line, what] : found) {
    INFO(line);
    CHECK(parsed("# first\nonload_set EF_Z 0\n" + line + "\n") == "needs a shell: p.opf:3: " + what);
  }
}

TEST_CASE("a dynamic profile is dynamic as a whole, whatever follows") {
  CHECK(parsed("onload_set EF_X 1\nif true; then\nonload_set 'EF_Y\n") == "needs a shell: p.opf:2: `if`");
}

TEST_CASE("invalid shell syntax is refused with file and line") {
  const std::map<std::string, std::string> messages{
      {"onload_set EF_X 'a", "unterminated quote `'`"},
      {"onload_set EF_X \"a", "unterminated quote `\"`"},
      {"onload_set EF_X \"a\n\n", "unterminated quote `\"`"},
      {"onload_set EF_X ${A", "`${A?` has no closing `}`"},
      {"onload_set EF_X $((1", "`$((` is not closed by `))`"},
      {"onload_set", "onload_set: expected a name and a value"},
      {"onload_set EF_X", "onload_set: `EF_X` has no value"},
      {"onload_set EF_X 1 2", "onload_set: expected one value; quote a value that has spaces"},
      {"onload_set EF_X=1 2", "onload_set: `EF_X=1` is not a valid variable name"},
      {"onload_set EF-X 1", "onload_set: `EF-X` is not a valid variable name"},
      {"onload_set 1EF 1", "onload_set: `1EF` is not a valid variable name"},
      {"onload_set '' 1", "onload_set: `` is not a valid variable name"},
      {"onload_set =1", "onload_set: `` is not a valid variable name"},
      {"onload_set \xc3\xa9 1", "onload_set: `??` is not a valid variable name"},
      {"onload_import", "onload_import: expected a profile"},
      {"onload_set EF_X 1\r", "carriage return; lines must end with a line feed only"},
      {std::string("onload_set EF_X 1\0", 18), "control character"},
      {"# \x1b[31m", "control character"}};
  for (const auto& [line, message] : messages) {
    INFO(line);
    CHECK(parsed("# first\n" + line + "\n") == "wrong: p.opf:2: " + message);
  }
}

TEST_CASE("a profile cannot set variables that choose which code runs") {
  for (const char* name :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_SOMETHING_NEW", "PATH", "IFS", "GCONV_PATH", "GLIBC_TUNABLES",
        "BASH_ENV", "ENV", "PYTHONPATH", "PERL5OPT", "NODE_OPTIONS", "ONLOAD_PRELOAD"}) {
    INFO(name);
    const std::string message = "wrong: p.opf:1: onload_set: a profile must not set " + std::string(name);
    CHECK(parsed("onload_set " + std::string(name) + " x\n") == message);
    CHECK(parsed("onload_set " + std::string(name) + "=x\n") == message);
    CHECK(parsed("onload_set '" + std::string(name) + "' \"\"\n") == message);
  }
  for (const char* name :
       {"EF_POLL_USEC", "CI_OPTS", "NODEJS_WORKERS", "PROXY_WORKERS", "EF_LD_PRELOAD", "XPATH", "path"}) {
    INFO(name);
    CHECK(parsed("onload_set " + std::string(name) + " x\n") == "1 " + std::string(name) + "=[x]");
  }
}

TEST_CASE("a truncated text is refused") {
  const std::string whole = "# poll\nonload_set EF_POLL_USEC 100000\n";
  for (size_t size = 1; size < whole.size(); ++size) {
    if (whole[size - 1] == '\n') continue;
    INFO(size);
    CHECK(parsed(whole.substr(0, size)).ends_with("the last line has no line feed; the text may be truncated"));
  }
}

TEST_CASE("size and lines are bounded") {
  const std::string line = "onload_set EF_X 1\n";
  std::string lines;
  for (uint32_t i = 0; i < kLinesLimit; ++i) lines += line;
  CHECK(parse_profile(lines, "p.opf").has_value());
  CHECK(parsed(lines + "#\n") == "wrong: p.opf:2001: more than 2000 lines");
  CHECK(parse_profile("#" + std::string(kTextLimit - 2, ' ') + "\n", "p.opf").has_value());
  CHECK(parsed("#" + std::string(kTextLimit - 1, ' ') + "\n") == "wrong: p.opf:1: larger than 64 KiB");
  CHECK(parsed("onload_set " + std::string(kNameLimit, 'A') + " 1\n").starts_with("1 AAA"));
  CHECK(parsed("onload_set " + std::string(kNameLimit + 1, 'A') + " 1\n").starts_with("wrong: p.opf:1: "));
}

TEST_CASE("a value is one line of UTF-8") {
  for (const char* value : {"", "any=rss:active", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\\ \" ' $ ` %"}) {
    INFO(value);
    CHECK(problem_of_value(value).empty());
  }
  for (const char* value : {"a\nb", "\t", "\x7f", "\xc2\x80"}) {
    INFO(value);
    CHECK(problem_of_value(value) == "contains a line feed or another control character");
  }
  for (const char* value : {"\xff", "\xc3", "\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                            "\xef\xbf\xbf", "\xef\xb7\x90", "a\xe2\x82"}) {
    INFO(value);
    CHECK(problem_of_value(value) == "is not UTF-8");
  }
  CHECK(problem_of_value(std::string(kValueLimit, 'a')).empty());
  CHECK(problem_of_value(std::string(kValueLimit + 1, 'a')) == "is longer than 1024 bytes");
}

}  // namespace nrd::profiles::profile_text_test
