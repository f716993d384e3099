// Converts RMD's TLS files, roles and access list. RMD's sample certificates are never imported: their keys are
// public.
#pragma once

#include "base/result.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

// [tls] and its files, all or none; then [roles] and [access]. Fails if a file cannot be read.
Result<void> move_access(RmdImport& moving, const RmdDirectory& rmd);

// Users and roles from the access list's "g, NAME, ROLE" lines, as parts of certificate subjects.
struct NamedRoles {
  std::vector<std::string> admins;  // "CN=alice"
  std::vector<std::string> users;
  friend bool operator==(const NamedRoles&, const NamedRoles&) = default;
};
NamedRoles named_roles_of(const std::string& access_list);

}  // namespace nrd::cli
