// The words of a profile's commands, by the quoting rules of the POSIX shell (XCU 2.2, 2.3 and 2.6).
//
//   onload_set EF_NAME "a $HOST"'"b"'\ c   # words: EF_NAME and, in pieces, "a ", $HOST, "\"b\" c"
//
// What would need a shell to become a word (a pattern of file names, a command's output) or would end the command in
// another way than its line does (`;`, `|`, `>`) is said so.
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
  bool is_quoted = false;  // not quoted, a shell would split its value at blanks and take it for a pattern
  friend bool operator==(const Reference&, const Reference&) = default;
};
// $@, $1, $#: the command line of the application, or the state of a shell.
struct OfShell {
  std::string spelled;
  friend bool operator==(const OfShell&, const OfShell&) = default;
};
using Piece = std::variant<Text, Reference, Arithmetic, OfShell>;

struct Word {
  std::vector<Piece> pieces;  // no two texts side by side; `""` is one empty text
  friend bool operator==(const Word&, const Word&) = default;
};

class Words {
 public:
  // `text` must end with a line end, or be empty.
  Words(std::string_view text, const std::string& file) : text_(text), place_{.file = file, .line = 1} {}

  // Goes to the next command. False: there is none.
  bool next_command();
  // The first word of the command as it is spelled, "" if there stands none.
  std::string_view take_name();
  // The next word of the command; nullopt at its end.
  Read<std::optional<Word>> next_word();

  const Place& place() const { return place_; }
  // What comes next, for messages.
  std::string_view rest() const { return text_.substr(at_); }

 private:
  char here() const { return peek(0); }
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }
  void skip(size_t count);
  void skip_blanks();
  void skip_comment();
  Read<Word> word();
  Read<void> bare(Word& word);
  Read<void> single_quoted(Word& word);
  Read<void> double_quoted(Word& word);
  Read<void> dollar(Word& word, bool is_quoted);
  Read<void> braced(Word& word, bool is_quoted);
  Read<void> arithmetic(Word& word);

  std::string_view text_;
  size_t at_ = 0;
  Place place_;
};

}  // namespace nrd::profiles
