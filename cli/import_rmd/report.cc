#include "cli/import_rmd/report.h"

#include <algorithm>
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

void Report::rejected(std::string what, std::string why) {
  notes_.push_back({Note::Kind::Rejected, std::move(what), std::move(why)});
}

bool Report::has_rejected() const {
  return std::ranges::find(notes_, Note::Kind::Rejected, &Note::kind) != notes_.end();
}

std::string Report::text() const {
  std::string text;
  for (const auto& [kind, title] :
       {std::pair{Note::Kind::Taken, "taken     "}, std::pair{Note::Kind::Changed, "changed   "},
        std::pair{Note::Kind::LeftOut, "left out  "}, std::pair{Note::Kind::Rejected, "rejected  "}}) {
    for (const Note& note : notes_) {
      if (note.kind == kind) text += title + without_controls(note.what + ": " + note.text) + "\n";
    }
  }
  return text;
}

}  // namespace nrd::cli
