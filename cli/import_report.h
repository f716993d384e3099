// Records how each setting of another program was converted, for the operator and for comments in the configuration.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nrd::cli {

struct Note {
  enum class Kind { Taken, Changed, LeftOut, Rejected };
  Kind kind;
  std::string what;  // a key ("default.tlsport") or a file
  std::string text;  // the new setting, or why it was left out
  friend bool operator==(const Note&, const Note&) = default;
};

class Report {
 public:
  void taken(std::string what, std::string became) { add(Note::Kind::Taken, std::move(what), std::move(became)); }
  void changed(std::string what, std::string became) { add(Note::Kind::Changed, std::move(what), std::move(became)); }
  void left_out(std::string what, std::string why) { add(Note::Kind::LeftOut, std::move(what), std::move(why)); }
  // The other program's file is wrong there.
  void rejected(std::string what, std::string why) { add(Note::Kind::Rejected, std::move(what), std::move(why)); }
  bool has_rejected() const;
  const std::vector<Note>& notes() const { return notes_; }
  // One line each, converted settings first.
  std::string text() const;

 private:
  void add(Note::Kind kind, std::string what, std::string text) {
    notes_.push_back({kind, std::move(what), std::move(text)});
  }
  std::vector<Note> notes_;
};

}  // namespace nrd::cli
