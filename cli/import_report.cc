#include "cli/import_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/control.h"

namespace nrd::cli {

bool Report::has_rejected() const {
  return std::ranges::find(notes_, Note::Kind::Rejected, &Note::kind) != notes_.end();
}

std::string Report::text() const {
  std::string text;
  for (const auto& [kind, title] :
       {std::pair{Note::Kind::Taken, "taken     "}, std::pair{Note::Kind::Changed, "changed   "},
        std::pair{Note::Kind::LeftOut, "left out  "}, std::pair{Note::Kind::Rejected, "rejected  "}}) {
    for (const Note& note : notes_) {
      if (note.kind == kind) text += title + without_controls(fmt::format("{}: {}", note.what, note.text)) + "\n";
    }
  }
  return text;
}

}  // namespace nrd::cli
