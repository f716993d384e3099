// What became of each thing that RMD had: for the operator's eyes, and as comments in the configuration.
#pragma once

#include <string>
#include <vector>

namespace nrd::cli {

struct Note {
  enum class Kind { Taken, Changed, LeftOut };
  Kind kind;
  std::string what;  // a key ("default.tlsport") or a file
  std::string text;  // what it became, or why it was left out
  friend bool operator==(const Note&, const Note&) = default;
};

class Report {
 public:
  void taken(std::string what, std::string became);
  void changed(std::string what, std::string became);
  void left_out(std::string what, std::string why);
  const std::vector<Note>& notes() const { return notes_; }
  // One line each, first what was taken.
  std::string text() const;

 private:
  std::vector<Note> notes_;
};

}  // namespace nrd::cli
