// Authentication, authorization and audit log for every route.
//
// Each denied request and each change, successful or not, writes one line to the journal: user, address, request,
// status. Authentication with PAM is asynchronous and does not block other requests.
#pragma once

#include <memory>
#include <string>

#include "api/auth/access.h"
#include "api/auth/pam_client.h"
#include "api/http/message.h"
#include "api/routing/router.h"
#include "base/published.h"

namespace nrd::routing {

// The access rules and the PAM client. Each request uses the current rules.
struct AuthorizationOptions {
  RouteTable table;  // with the access that each route requires
  std::shared_ptr<const Published<auth::Rules>> rules;
  auth::PamClient* pam_client = nullptr;  // must outlive the server; null if the rules never ask PAM
  std::string pam_service;
};

http::Handler authorize(AuthorizationOptions options, http::Handler next);

}  // namespace nrd::routing
