// One PAM transaction: checks a password and the account. Only pam.cc uses libpam.
//
// Only the program nrd-pam calls this (pam_program.cc): third-party modules may hang, crash or write to the terminal,
// so they must not run in the daemon.
#pragma once

#include <string>

#include "api/auth/pam_message.h"

namespace nrd::auth {

// Authentication, then account management. Opens no session and sets no credentials.
PamAnswer ask_pam(const PamQuestion& question);

}  // namespace nrd::auth
