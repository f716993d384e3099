// Parses a profile (.opf) into statements, without a shell:
//
//   # comments, on lines of their own or after a statement
//   onload_set EF_POLL_USEC 100000             onload_set EF_POLL_USEC=100000
//   onload_set EF_MAX_PACKETS $(( 5760000 / $EF_CLUSTER_SIZE ))
//   onload_import throughput "$@"
//
// Any other shell syntax makes the profile dynamic. Pure: variables and imports are resolved in evaluate.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/onload/profiles/outcome.h"
#include "hw/onload/profiles/words.h"

namespace nrd::profiles {

constexpr size_t kTextLimit = size_t{64} << 10;
constexpr uint32_t kLinesLimit = 2000;

// The author of a text. Files are written by root and are code. Texts from the API are data: they may configure Onload,
// but must not decide what runs or is written as the user who starts an application.
enum class Origin { File, Api };

struct Set {
  std::string name;
  Word value;
  friend bool operator==(const Set&, const Set&) = default;
};

// Arguments after the profile only matter to a shell.
struct Import {
  Word profile;
  friend bool operator==(const Import&, const Import&) = default;
};

struct Statement {
  Location location;
  std::variant<Set, Import> act;
  friend bool operator==(const Statement&, const Statement&) = default;
};

// `file` is used in messages. BadRequest with file and line: unterminated quotes or parentheses, missing arguments, an
// invalid or forbidden name, a text that is too long or truncated.
Parsed<std::vector<Statement>> parse_profile(std::string_view text, const std::string& file);

// Parses a text from the API. Unsupported: it needs a shell. BadRequest also if it sets other variables than Onload
// settings (variable.h), or imports other than by a literal name.
Result<std::vector<Statement>> parse_api_profile(std::string_view text, const std::string& file);

}  // namespace nrd::profiles
