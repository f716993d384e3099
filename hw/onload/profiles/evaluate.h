// Evaluates profiles to the environment variables they set.
//
// The first assignment of a variable wins: the caller's environment, then the profiles in the given order, each line by
// line, with an import replaced by the lines of the imported profile. To override a fragment, a profile sets the
// variable before it imports the fragment.
//
//   caller: EF_INT_DRIVEN=1     latency.opf: onload_set EF_INT_DRIVEN 0     result: EF_POLL_USEC=20
//                                            onload_set EF_POLL_USEC 20
//                                            onload_set EF_POLL_USEC 99
//
// Pure, except for the given file reader. All or nothing: one dynamic line, even in an import, makes the result
// dynamic.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hw/onload/profiles/outcome.h"
#include "hw/onload/profiles/profile_text.h"

namespace nrd::profiles {

constexpr unsigned kImportDepth = 16;
constexpr unsigned kFilesLimit = 64;  // profiles and imports of one evaluation, including repeated ones

using Environment = std::map<std::string, std::string>;

// Whether profiles may be given by path (a name with a slash).
enum class Paths { Refused, Accepted };

struct ProfileFile {
  std::string text;
  Origin origin = Origin::File;
};

// Where profiles are found. Profile P is P.opf in the first directory that has it; imports also find P.opf-fragment, in
// each directory after P.opf.
struct Library {
  std::vector<std::string> directories;
  Paths paths = Paths::Refused;
  // The content of a file; nullopt: no such file.
  std::function<Result<std::optional<ProfileFile>>(const std::string& path)> read;
};

// Which value wins if both the caller and a profile set a variable. Among profiles it is the first one.
enum class Winner { Caller, Profiles };

struct Request {
  std::vector<std::string> profiles;
  Environment caller;  // empty values count as unset
  Winner winner = Winner::Caller;
};

struct Evaluated {
  Environment environment;            // to add to or replace in the caller's environment
  std::vector<std::string> warnings;  // "latency.opf:3: EF_POLL_USEC is set to an empty value, which has no effect"
  friend bool operator==(const Evaluated&, const Evaluated&) = default;
};

// NotFound: a requested profile does not exist. BadRequest, with file and line: an error in a profile. Failures of the
// file reader are passed on.
Parsed<Evaluated> evaluate(const Library& library, const Request& request);

}  // namespace nrd::profiles
