#include "cli/import_rmd/report.h"

#include <utility>

#include "base/control.h"

namespace nrd::cli {

void Report::taken(std::string what, std::string became) {
  notes_.push_back({Note::Kind::Taken, std::move(what), std::move(became)});
}

void Report::changed(std::string what, std::string became) {
  notes_.push_back({Note::Kind::Changed, std::move(what), std::move(became)});
}

void Report::left_out(std::string what, std::string why) {
  notes_.push_back({Note::Kind::LeftOut, std::move(what), std::move(why)});
}

std::string Report::text() const {
  std::string text;
  for (const auto& [kind, title] :
       {std::pair{Note::Kind::Taken, "taken     "}, std::pair{Note::Kind::Changed, "changed   "},
        std::pair{Note::Kind::LeftOut, "left out  "}}) {
    for (const Note& note : notes_) {
      if (note.kind == kind) text += title + without_controls(note.what + ": " + note.text) + "\n";
    }
  }
  return text;
}

}  // namespace nrd::cli
