// Profiles for the launcher: from where it looks for them to what they set.
//
// All are evaluated here, in the process of whoever starts the application: static ones by the same code as in nrd,
// those that need a shell by /bin/sh. So the caller's environment, which profiles refer to and which may hold secrets,
// goes nowhere, and there is one rule for who wins. nrd gives the texts of what it has; what came over its API is data
// (hw/onload/profiles/profile_text.h), whatever it says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client.h"
#include "cli/environment.h"
#include "cli/onload/profile_shell.h"

namespace nrd::cli {

// ~/.openonload/profiles, then this.
struct ProfileSource {
  const Client* client = nullptr;    // nrd's; null: these folders
  std::vector<std::string> folders;  // of this host, as the caller may read them
};

struct ProfileRequest {
  std::vector<std::string> names;
  Environment caller;
  Force force = Force::No;
  std::vector<std::string> application;
};

struct ProfileResult {
  Environment environment;            // to be added to the caller's, or to replace there
  std::vector<std::string> warnings;  // also what profiles wrote
};

Result<ProfileResult> evaluate_profiles(const ProfileSource& source, const ProfileRequest& wish);

}  // namespace nrd::cli
