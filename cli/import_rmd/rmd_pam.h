// The stack of PAM that RMD logged its users in with: etc/rmd/pam/rmd.
//
// RMD asked PAM for the password only, so its file has `auth` lines alone. nrd asks about the account as well, and a
// service without `account` lines refuses every user.
#pragma once

#include <string>

namespace nrd::cli {

// `stack` with an `account` line of the same module for each `auth` line; as it is if it has some already:
//
//   auth sufficient pam_unix.so            account sufficient pam_unix.so
//   auth requisite pam_userdb.so db=...    account requisite pam_userdb.so db=...
//   @include common-auth                   @include common-account
std::string with_account_lines(const std::string& stack);

}  // namespace nrd::cli
