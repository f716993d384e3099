// What stands before every route: who is asking, whether he may, and the audit.
//
// Each refusal and each change, whatever became of it, is one line of the journal: who, from where, what, outcome.
// While PAM is asked nobody waits: the request goes on when the answer is there.
#pragma once

#include <memory>
#include <string>

#include "api/auth/access.h"
#include "api/auth/pam_client.h"
#include "api/http/message.h"
#include "base/published.h"

namespace nrd::v1 {

// By what the authorize judges. The rules of the moment count for each request anew.
struct AuthorizationOptions {
  std::shared_ptr<const Published<auth::Rules>> rules;
  auth::PamClient* pam_client = nullptr;  // must outlive the server; null if the rules never ask PAM
  std::string pam_service;
};

http::Handler authorize(AuthorizationOptions entry, http::Handler inside);

}  // namespace nrd::v1
