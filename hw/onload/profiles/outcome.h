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

struct Location {
  std::string file;
  uint32_t line = 1;
  friend bool operator==(const Location&, const Location&) = default;
};

inline std::string to_string(const Location& location) { return location.file + ":" + std::to_string(location.line); }

// The profile needs a shell. `what` is the first construct that does: "`if`".
struct Dynamic {
  Location location;
  std::string what;
  friend bool operator==(const Dynamic&, const Dynamic&) = default;
};

inline std::string to_string(const Dynamic& dynamic) { return to_string(dynamic.location) + ": " + dynamic.what; }

using Stop = std::variant<Dynamic, Error>;

template <typename T>
using Parsed = tl::expected<T, Stop>;

inline tl::unexpected<Stop> needs_shell(const Location& location, std::string what) {
  return tl::unexpected<Stop>(Dynamic{location, std::move(what)});
}

// "latency.opf:3: EF_POLL_USEC has no value"
inline tl::unexpected<Stop> wrong(const Location& location, const std::string& what) {
  return tl::unexpected<Stop>(Error{ErrorCode::BadRequest, {}, to_string(location) + ": " + what, {}, {}, {}});
}

// Quotes foreign text for a message: in back quotes, on one line, shortened.
inline std::string shown(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string line = "`";
  for (const char c : text.substr(0, kShown)) line += c >= ' ' && c <= '~' ? c : '?';
  return line + (text.size() > kShown ? "...`" : "`");
}

}  // namespace nrd::profiles
