// What stands before every route: who is asking, whether he may, and the audit.
//
// Each refusal and each change, whatever became of it, is one line of the journal: who, from where, what, outcome.
#pragma once

#include "api/auth/access.h"
#include "api/http/message.h"

namespace nrd::v1 {

http::Handler gate(auth::Rules rules, http::Handler inside);

}  // namespace nrd::v1
