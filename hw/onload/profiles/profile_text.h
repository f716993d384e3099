// One profile (.opf) as its statements, without a shell:
//
//   # comments, on lines of their own or behind a statement
//   onload_set EF_POLL_USEC 100000             onload_set EF_POLL_USEC=100000
//   onload_set EF_MAX_PACKETS $(( 5760000 / $EF_CLUSTER_SIZE ))
//   onload_import throughput "$@"
//
// Everything else that a shell would understand makes the profile dynamic, from the first line to the last. Pure: what
// names hold, and which files there are, is evaluate.h's.
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

// Who wrote a text. Root's files are programs of root's. What came over the API is data: its author may set how Onload
// behaves, and must not decide what runs, or what is written, as whoever starts an application.
enum class Origin { File, Api };

struct Set {
  std::string name;
  Word value;
  friend bool operator==(const Set&, const Set&) = default;
};

// What stands behind the profile is for its shell, and nothing to a static one.
struct Import {
  Word profile;
  friend bool operator==(const Import&, const Import&) = default;
};

struct Statement {
  Place place;
  std::variant<Set, Import> act;
  friend bool operator==(const Statement&, const Statement&) = default;
};

// `file` stands in messages and places. BadRequest with file and line: quotes or brackets that are not closed, a
// statement without its words, a name that is none or forbidden, a text that is too long or cut off.
Known<std::vector<Statement>> parse_profile(std::string_view text, const std::string& file);

// The same of a text that came over the API. Unsupported: it needs a shell. BadRequest also where it sets anything but
// settings of Onload (variable.h), or imports otherwise than by a name that is spelled out.
Result<std::vector<Statement>> parse_api_profile(std::string_view text, const std::string& file);

}  // namespace nrd::profiles
