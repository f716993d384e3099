// The PAM stack that RMD used: etc/rmd/pam/rmd.
//
// RMD checked only the password, so its file has only `auth` lines. nrd also checks the account, and a service
// without `account` lines refuses every user.
#pragma once

#include <string>

namespace nrd::cli {

// `stack` with an `account` line added for each `auth` line; unchanged if it already has some:
//
//   auth sufficient pam_unix.so            account sufficient pam_unix.so
//   auth requisite pam_userdb.so db=...    account requisite pam_userdb.so db=...
//   @include common-auth                   @include common-account
std::string with_account_lines(const std::string& stack);

}  // namespace nrd::cli
