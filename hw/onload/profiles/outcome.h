// Results of reading a profile: a value, an error, or "it needs a shell".
//
// An Onload profile is a fragment of a shell script. nrd understands the subset that most profiles use; any other
// profile is *dynamic*, which is not an error. Both outcomes name file and line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"

namespace nrd::profiles {

struct Place {
  std::string file;
  uint32_t line = 1;
  friend bool operator==(const Place&, const Place&) = default;
};

inline std::string to_string(const Place& place) { return place.file + ":" + std::to_string(place.line); }

// The profile needs a shell. `what` is the first construct that does: "`if`".
struct Dynamic {
  Place place;
  std::string what;
  friend bool operator==(const Dynamic&, const Dynamic&) = default;
};

inline std::string to_string(const Dynamic& dynamic) { return to_string(dynamic.place) + ": " + dynamic.what; }

using Stop = std::variant<Dynamic, Error>;

template <typename T>
using Parsed = tl::expected<T, Stop>;

inline tl::unexpected<Stop> needs_shell(const Place& place, std::string what) {
  return tl::unexpected<Stop>(Dynamic{place, std::move(what)});
}

// "latency.opf:3: EF_POLL_USEC has no value"
inline tl::unexpected<Stop> wrong(const Place& place, const std::string& what) {
  return tl::unexpected<Stop>(Error{ErrorCode::BadRequest, {}, to_string(place) + ": " + what, {}, {}, {}});
}

// Quotes foreign text for a message: in back quotes, on one line, shortened.
inline std::string shown(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string line = "`";
  for (const char c : text.substr(0, kShown)) line += c >= ' ' && c <= '~' ? c : '?';
  return line + (text.size() > kShown ? "...`" : "`");
}

}  // namespace nrd::profiles
