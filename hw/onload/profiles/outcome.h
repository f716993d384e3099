// How reading a profile ends when it does not end well: it is wrong, or it needs a shell.
//
// A profile of Onload is a fragment of a shell script. What this room understands of it is enough for most of them; the
// rest is *dynamic*, which is no mistake of its author. So both ways out stay apart from the first character on, and
// both name file and line.
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

// The profile needs a shell. `what` is the first thing in it that does: "`if`".
struct Dynamic {
  Place place;
  std::string what;
  friend bool operator==(const Dynamic&, const Dynamic&) = default;
};

using Stop = std::variant<Dynamic, Error>;

// Within this room. Its doors answer with Known<T>.
template <typename T>
using Read = tl::expected<T, Stop>;

template <typename T>
using Known = Result<std::variant<T, Dynamic>>;

inline tl::unexpected<Stop> needs_shell(const Place& place, std::string what) {
  return tl::unexpected<Stop>(Dynamic{place, std::move(what)});
}

// "latency.opf:3: EF_POLL_USEC has no value"
inline tl::unexpected<Stop> wrong(const Place& place, const std::string& what) {
  return tl::unexpected<Stop>(Error{ErrorCode::BadRequest, {}, to_string(place) + ": " + what, {}, {}, {}});
}

template <typename T>
Known<T> known(Read<T> read) {
  if (read) return std::variant<T, Dynamic>(*std::move(read));
  if (auto* dynamic = std::get_if<Dynamic>(&read.error())) return std::variant<T, Dynamic>(std::move(*dynamic));
  return Failure(std::get<Error>(std::move(read.error())));
}

// Somebody's text for a message: between back quotes, one line, not long.
inline std::string shown(std::string_view text) {
  constexpr size_t kShown = 40;  // enough to recognise it, too little to fill a log with
  std::string line = "`";
  for (const char c : text.substr(0, kShown)) line += c >= ' ' && c <= '~' ? c : '?';
  return line + (text.size() > kShown ? "...`" : "`");
}

}  // namespace nrd::profiles
