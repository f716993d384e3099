// What stands before every route: who is asking, whether he may, and the audit.
//
// Each refusal and each change, whatever became of it, is one line of the journal: who, from where, what, outcome.
// While PAM is asked nobody waits: the request goes on when the answer is there.
#pragma once

#include <memory>
#include <string>

#include "api/auth/access.h"
#include "api/auth/logins.h"
#include "api/http/message.h"
#include "base/guarded.h"

namespace nrd::v1 {

// By what the gate judges. The rules of the moment count for each request anew.
struct Entry {
  std::shared_ptr<const Published<auth::Rules>> rules;
  auth::Logins* logins = nullptr;  // must outlive the server; null if the rules never ask PAM
  std::string pam_service;
};

http::Handler gate(Entry entry, http::Handler inside);

}  // namespace nrd::v1
