// Who RMD let in, and by which certificates. Those that came with RMD are never taken over: everybody has their keys.
#pragma once

#include "base/result.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

// [tls] and its files, whole or not at all; then [roles] and [access]. An error is a file that cannot be read.
Result<void> move_access(RmdImport& moving, const RmdDirectory& rmd);

// Users and roles of an access list's "g, NAME, ROLE" lines, as parts of certificates' subjects.
struct NamedRoles {
  std::vector<std::string> admins;  // "CN=alice"
  std::vector<std::string> users;
  friend bool operator==(const NamedRoles&, const NamedRoles&) = default;
};
NamedRoles named_roles_of(const std::string& access_list);

}  // namespace nrd::cli
