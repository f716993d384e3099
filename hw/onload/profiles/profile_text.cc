#include "hw/onload/profiles/profile_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/control.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::profiles {
namespace {

Parsed<void> check_whole(std::string_view text, const std::string& file) {
  if (text.size() > kTextLimit) return wrong({file, 1}, "larger than 64 KiB");
  Location location{file, 1};
  for (const char c : text) {
    if (c == '\r') return wrong(location, "carriage return; lines must end with a line feed only");
    if (is_control(c) && c != '\t' && c != '\n') return wrong(location, "control character");
    if (location.line > kLinesLimit) return wrong(location, "more than 2000 lines");
    if (c == '\n') ++location.line;
  }
  // A truncated value looks like another value.
  if (!text.empty() && !text.ends_with('\n'))
    return wrong(location, "the last line has no line feed; the text may be truncated");
  return {};
}

Parsed<void> check_static(const Word& word, const Location& location) {
  for (const Piece& piece : word.pieces) {
    if (const auto* found = std::get_if<ShellParameter>(&piece)) return needs_shell(location, shown(found->spelled));
  }
  return {};
}

// The text of a word without references; nullopt otherwise.
std::optional<std::string> literal_text(const Word& word) {
  const Text* text = word.pieces.size() == 1 ? std::get_if<Text>(&word.pieces.front()) : nullptr;
  return text == nullptr ? std::nullopt : std::optional(text->text);
}

Parsed<std::vector<Word>> words_of_command(Words& words) {
  std::vector<Word> found;
  for (;;) {
    std::optional<Word> word = TRY(words.next_word());
    if (!word) return found;
    found.push_back(*std::move(word));
  }
}

// NAME=VALUE in one word; the value is everything after the first `=`.
Parsed<Set> parse_assignment(Word word, const Location& location) {
  auto* front = std::get_if<Text>(&word.pieces.front());
  const size_t equals = front == nullptr ? std::string::npos : front->text.find('=');
  if (equals == std::string::npos) {
    const std::optional<std::string> name = literal_text(word);
    if (!name) return needs_shell(location, "a computed name");
    return wrong(location, fmt::format("onload_set: {} has no value", shown(*name)));
  }
  Set set{.name = front->text.substr(0, equals), .value = {}};
  front->text.erase(0, equals + 1);
  set.value = std::move(word);
  return set;
}

Parsed<Set> parse_set(std::vector<Word> words, const Location& location) {
  if (words.empty()) return wrong(location, "onload_set: expected a name and a value");
  for (const Word& word : words) {
    TRY(check_static(word, location));
  }
  if (words.size() > 2) return wrong(location, "onload_set: expected one value; quote a value that has spaces");
  if (words.size() == 1) return parse_assignment(std::move(words.front()), location);
  const std::optional<std::string> name = literal_text(words.front());
  if (!name) return needs_shell(location, "a computed name");
  return Set{.name = *name, .value = std::move(words.back())};
}

Parsed<Import> parse_import(std::vector<Word> words, const Location& location) {
  if (words.empty()) return wrong(location, "onload_import: expected a profile");
  TRY(check_static(words.front(), location));
  return Import{.profile = std::move(words.front())};
}

Parsed<void> check(const Set& set, const Location& location) {
  if (!is_name(set.name))
    return wrong(location, fmt::format("onload_set: {} is not a valid variable name", shown(set.name)));
  if (is_forbidden(set.name)) return wrong(location, "onload_set: a profile must not set " + set.name);
  return {};
}

Parsed<Statement> parse_statement(Words& words) {
  const Location location = words.location();
  const std::string_view begin = words.rest();
  const std::string_view name = words.take_name();
  const bool sets = name == "onload_set";
  if (!sets && name != "onload_import") return needs_shell(location, shown(name.empty() ? begin.substr(0, 1) : name));
  std::vector<Word> rest = TRY(words_of_command(words));
  const auto stated = [&location](auto act) { return Statement{.location = location, .act = std::move(act)}; };
  if (!sets) return parse_import(std::move(rest), location).map(stated);
  Set set = TRY(parse_set(std::move(rest), location));
  TRY(check(set, location));
  return stated(std::move(set));
}

// Why a statement is not allowed in a text from the API; "": it is.
std::string problem_of_data(const Set& set) {
  if (is_setting(set.name)) return {};
  return "onload_set: profiles stored over the API can set only EF_* variables that name no file, not " + set.name;
}

std::string problem_of_data(const Import& import) {
  const std::optional<std::string> name = literal_text(import.profile);
  if (name && name->find('/') == std::string::npos) return {};
  return "onload_import: profiles stored over the API can import only by name, not by path or variable";
}

}  // namespace

Parsed<std::vector<Statement>> parse_profile(std::string_view text, const std::string& file) {
  TRY(check_whole(text, file));
  std::vector<Statement> statements;
  for (Words words(text, file); words.next_command();) {
    Statement statement = TRY(parse_statement(words));
    statements.push_back(std::move(statement));
  }
  return statements;
}

Result<std::vector<Statement>> parse_api_profile(std::string_view text, const std::string& file) {
  Parsed<std::vector<Statement>> parsed = parse_profile(text, file);
  if (!parsed) {
    if (const auto* error = std::get_if<Error>(&parsed.error())) return Failure(*error);
    return fail(ErrorCode::Unsupported, to_string(std::get<Dynamic>(parsed.error())) +
                                            " needs a shell, but profiles stored over the API are never run by one; "
                                            "put the file into a directory of onload.profiles");
  }
  for (const Statement& statement : *parsed) {
    const std::string problem = std::visit([](const auto& act) { return problem_of_data(act); }, statement.act);
    if (!problem.empty())
      return fail(ErrorCode::BadRequest, fmt::format("{}: {}", to_string(statement.location), problem));
  }
  return *std::move(parsed);
}

}  // namespace nrd::profiles
