// One question to PAM: is this the user's password, and may he come in? libpam has its home in pam.cc.
//
// Only the program nrd-pam calls this (pam_program.cc): modules are code of others that may hang, crash or talk, and
// the daemon stays out of their reach.
#pragma once

#include <string>

#include "api/auth/pam_message.h"

namespace nrd::auth {

// Authentication and then account management. No session is opened, no credentials are set.
PamAnswer ask_pam(const PamQuestion& question);

}  // namespace nrd::auth
