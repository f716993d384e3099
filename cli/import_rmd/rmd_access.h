// Converts RMD's TLS files, roles, access list and PAM stack. RMD's sample certificates are never imported: their keys
// are public.
#pragma once

#include "base/result.h"
#include "cli/certificates.h"
#include "cli/import_rmd/rmd_directory.h"
#include "cli/import_rmd/rmd_import.h"

namespace nrd::cli {

// [tls] and its files, all or none; then [roles] and [access]. Fails if a file cannot be read.
Result<void> move_access(RmdImport& moving, const RmdDirectory& rmd);

// True for the sample certificates shipped with RMD, whose private keys are public.
bool is_sample_of_rmd(const CertificateFacts& facts);

// Users and roles from the access list's "g, NAME, ROLE" lines, as parts of certificate subjects.
struct NamedRoles {
  std::vector<std::string> admins;  // "CN=alice"
  std::vector<std::string> users;
  friend bool operator==(const NamedRoles&, const NamedRoles&) = default;
};
NamedRoles named_roles_of(const std::string& access_list);

// RMD's PAM stack, etc/rmd/pam/rmd, with an `account` line added for each `auth` line; unchanged if it already has
// some:
//
//   auth sufficient pam_unix.so            account sufficient pam_unix.so
//   auth requisite pam_userdb.so db=...    account requisite pam_userdb.so db=...
//   @include common-auth                   @include common-account
//
// RMD checked only the password, so its file has only `auth` lines. nrd also checks the account, and a service
// without `account` lines refuses every user.
std::string with_account_lines(const std::string& stack);

}  // namespace nrd::cli
