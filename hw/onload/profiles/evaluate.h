// From profiles to the variables that they give to an application.
//
// The first who sets a variable to something keeps it: the caller's environment, then the profiles in the order in
// which they are named, and within each its lines in order, an import standing for the lines of what it imports. So a
// profile that wants another value than its fragment has sets it before it imports the fragment.
//
//   caller: EF_INT_DRIVEN=1     latency.opf: onload_set EF_INT_DRIVEN 0     result: EF_POLL_USEC=20
//                                            onload_set EF_POLL_USEC 20     (the caller has the rest already)
//                                            onload_set EF_POLL_USEC 99
//
// Pure but for the reader of files that is handed in. All or nothing: what is dynamic in one line of one import gives
// no variable at all.
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
constexpr unsigned kFilesLimit = 64;  // profiles and imports of one evaluation; one imported twice counts twice

using Environment = std::map<std::string, std::string>;

// Whether a profile may be called by a path: a name with a slash in it.
enum class Paths { Refused, Taken };

struct ProfileFile {
  std::string text;
  Origin origin = Origin::File;
};

// Where profiles lie. A name P is looked for as P.opf in each directory in turn, within imports also as P.opf-fragment
// (in each directory after P.opf). A fragment alone makes no sense, so none is taken by name from outside of a profile.
struct Library {
  std::vector<std::string> directories;
  Paths paths = Paths::Refused;
  // The whole file; nullopt: there is none.
  std::function<Result<std::optional<ProfileFile>>(const std::string& path)> read;
};

// Who wins where the caller and a profile name the same variable. Among profiles it is the first in either case.
enum class Winner { Caller, Profiles };

struct Request {
  std::vector<std::string> profiles;
  Environment caller;  // an empty value counts as none
  Winner winner = Winner::Caller;
};

struct Evaluated {
  Environment environment;            // what is to be added to the caller's, or to replace there
  std::vector<std::string> warnings;  // "latency.opf:3: EF_POLL_USEC is set to an empty value, which has no effect"
  friend bool operator==(const Evaluated&, const Evaluated&) = default;
};

// NotFound: no profile of a name that was asked for. BadRequest, with file and line: whatever is wrong in one. What
// the reader of files fails with is passed on.
Known<Evaluated> evaluate(const Library& library, const Request& request);

}  // namespace nrd::profiles
