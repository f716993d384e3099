// Splits the commands of a profile into words, by the quoting rules of the POSIX shell (XCU 2.2, 2.3 and 2.6).
//
//   onload_set EF_NAME "a $HOST"'"b"'\ c   # words: EF_NAME and, in pieces, "a ", $HOST, "\"b\" c"
//
// Syntax that needs a shell (patterns, command substitution, `;`, `|`, `>`) is reported as such.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/onload/profiles/arithmetic.h"
#include "hw/onload/profiles/outcome.h"

namespace nrd::profiles {

struct Text {
  std::string text;
  friend bool operator==(const Text&, const Text&) = default;
};
// $NAME or ${NAME}.
struct Reference {
  std::string name;
  bool is_quoted = false;  // a shell would split and expand an unquoted value
  friend bool operator==(const Reference&, const Reference&) = default;
};
// $@, $1, $#: special and positional parameters of a shell.
struct ShellParameter {
  std::string spelled;
  friend bool operator==(const ShellParameter&, const ShellParameter&) = default;
};
using Piece = std::variant<Text, Reference, Arithmetic, ShellParameter>;

struct Word {
  std::vector<Piece> pieces;  // never two adjacent texts; `""` is one empty text
  friend bool operator==(const Word&, const Word&) = default;
};

class Words {
 public:
  // `text` must be empty or end with a line feed.
  Words(std::string_view text, const std::string& file) : text_(text), location_{.file = file, .line = 1} {}

  // Advances to the next command. False: none left.
  bool next_command();
  // The first word of the command, as written; "": none.
  std::string_view take_name();
  // The next word of the command; nullopt: end of command.
  Parsed<std::optional<Word>> next_word();

  const Location& location() const { return location_; }
  // The remaining text, for messages.
  std::string_view rest() const { return text_.substr(at_); }

 private:
  char here() const { return peek(0); }
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }
  void skip(size_t count);
  void skip_blanks();
  void skip_comment();
  Parsed<Word> word();
  Parsed<void> bare(Word& word);
  Parsed<void> single_quoted(Word& word);
  Parsed<void> double_quoted(Word& word);
  Parsed<void> dollar(Word& word, bool is_quoted);
  Parsed<void> braced(Word& word, bool is_quoted);
  Parsed<void> arithmetic(Word& word);

  std::string_view text_;
  size_t at_ = 0;
  Location location_;
};

}  // namespace nrd::profiles
