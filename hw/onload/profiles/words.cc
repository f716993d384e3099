#include "hw/onload/profiles/words.h"

#include <algorithm>

#include "hw/onload/profiles/variable.h"

namespace nrd::profiles {
namespace {

constexpr std::string_view kOperators = ";&|<>()";
// Unquoted, a shell expands these; braces only in bash.
constexpr std::string_view kPatterns = "*?[{}";
constexpr std::string_view kShellParameters = "@*#?$!-0123456789";

bool is_one_of(char c, std::string_view set) { return c != '\0' && set.find(c) != std::string_view::npos; }

void add_text(Word& word, std::string_view text) {
  if (word.pieces.empty() || !std::holds_alternative<Text>(word.pieces.back())) word.pieces.emplace_back(Text{});
  std::get<Text>(word.pieces.back()).text += text;
}

// A tilde is expanded at the start of a word, and in some shells after `=` and `:`.
bool may_expand_tilde(const Word& word) {
  if (word.pieces.empty()) return true;
  const Text* text = std::get_if<Text>(&word.pieces.back());
  return text != nullptr && (text->text.ends_with('=') || text->text.ends_with(':'));
}

}  // namespace

void Words::skip(size_t count) {
  const std::string_view skipped = text_.substr(at_, count);
  location_.line += static_cast<uint32_t>(std::ranges::count(skipped, '\n'));
  at_ += skipped.size();
}

// A backslash before a line feed joins two lines.
void Words::skip_blanks() {
  for (;;) {
    if (here() == ' ' || here() == '\t') {
      skip(1);
    } else if (here() == '\\' && peek(1) == '\n') {
      skip(2);
    } else {
      return;
    }
  }
}

void Words::skip_comment() {
  if (here() == '#') skip(std::min(text_.find('\n', at_), text_.size()) - at_);
}

bool Words::next_command() {
  for (;;) {
    skip_blanks();
    skip_comment();
    if (at_end()) return false;
    if (here() != '\n') return true;
    skip(1);
  }
}

std::string_view Words::take_name() {
  const size_t begin = at_;
  while (!at_end() && !is_one_of(here(), " \t\n") && !is_one_of(here(), kOperators)) skip(1);
  return text_.substr(begin, at_ - begin);
}

Parsed<std::optional<Word>> Words::next_word() {
  skip_blanks();
  skip_comment();
  if (at_end() || here() == '\n') {
    skip(1);
    return std::nullopt;
  }
  if (is_one_of(here(), kOperators)) return needs_shell(location_, shown({&text_[at_], 1}));
  return word().map([](Word word) { return std::optional(std::move(word)); });
}

Parsed<Word> Words::word() {
  Word word;
  while (!at_end() && !is_one_of(here(), " \t\n") && !is_one_of(here(), kOperators)) {
    switch (here()) {
      case '\'': TRY(single_quoted(word)); break;
      case '"': TRY(double_quoted(word)); break;
      case '$': TRY(dollar(word, false)); break;
      default: TRY(bare(word)); break;
    }
  }
  return word;
}

Parsed<void> Words::bare(Word& word) {
  const char c = here();
  if (c == '`') return needs_shell(location_, "command substitution");
  if (is_one_of(c, kPatterns)) return needs_shell(location_, "an unquoted pattern, " + shown({&c, 1}));
  if (c == '~' && may_expand_tilde(word)) return needs_shell(location_, "tilde expansion, `~`");
  if (c == '\\' && peek(1) == '\n') {
    skip(2);
    return {};
  }
  if (c == '\\') skip(1);
  add_text(word, text_.substr(at_, 1));
  skip(1);
  return {};
}

Parsed<void> Words::single_quoted(Word& word) {
  const size_t end = text_.find('\'', at_ + 1);
  if (end == std::string_view::npos) return wrong(location_, "unterminated quote `'`");
  add_text(word, text_.substr(at_ + 1, end - at_ - 1));
  skip(end + 1 - at_);
  return {};
}

Parsed<void> Words::double_quoted(Word& word) {
  const Location opened = location_;
  skip(1);
  add_text(word, "");
  while (here() != '"') {
    if (at_end()) return wrong(opened, "unterminated quote `\"`");
    if (here() == '`') return needs_shell(location_, "command substitution");
    if (here() == '$') {
      TRY(dollar(word, true));
      continue;
    }
    // Other backslashes are literal in double quotes.
    if (here() == '\\' && is_one_of(peek(1), "$`\"\\\n")) {
      if (peek(1) != '\n') add_text(word, text_.substr(at_ + 1, 1));
      skip(2);
      continue;
    }
    add_text(word, text_.substr(at_, 1));
    skip(1);
  }
  skip(1);
  return {};
}

Parsed<void> Words::dollar(Word& word, bool is_quoted) {
  const char next = peek(1);
  if (next == '(' && peek(2) == '(') return arithmetic(word);
  if (next == '(') return needs_shell(location_, "command substitution");
  if (next == '[') return needs_shell(location_, shown("$["));
  if (next == '{') return braced(word, is_quoted);
  if (!is_quoted && (next == '\'' || next == '"')) return needs_shell(location_, shown(text_.substr(at_, 2)));
  if (is_one_of(next, kShellParameters)) {
    word.pieces.emplace_back(ShellParameter{std::string(text_.substr(at_, 2))});
    skip(2);
    return {};
  }
  skip(1);
  const size_t begin = at_;
  while (at_ == begin ? begins_name(here()) : continues_name(here())) skip(1);
  if (at_ == begin) {
    add_text(word, "$");
  } else {
    word.pieces.emplace_back(Reference{std::string(text_.substr(begin, at_ - begin)), is_quoted});
  }
  return {};
}

Parsed<void> Words::braced(Word& word, bool is_quoted) {
  const size_t end = text_.find('}', at_);
  const std::string_view spelled = text_.substr(at_, end == std::string_view::npos ? end : end + 1 - at_);
  if (end == std::string_view::npos) return wrong(location_, shown(spelled) + " has no closing `}`");
  const std::string_view name = spelled.substr(2, spelled.size() - 3);
  const bool is_plain = !name.empty() && begins_name(name.front()) && std::ranges::all_of(name, continues_name);
  if (is_plain) {
    word.pieces.emplace_back(Reference{std::string(name), is_quoted});
  } else if (name.size() == 1 && is_one_of(name.front(), kShellParameters)) {
    word.pieces.emplace_back(ShellParameter{std::string(spelled)});
  } else {
    return needs_shell(location_, shown(spelled));
  }
  skip(spelled.size());
  return {};
}

Parsed<void> Words::arithmetic(Word& word) {
  constexpr size_t kOpening = 3;  // "$(("
  Arithmetic read = TRY(parse_arithmetic(text_.substr(at_ + kOpening), location_));
  skip(kOpening + read.text.size());
  word.pieces.emplace_back(std::move(read));
  return {};
}

}  // namespace nrd::profiles
