// Authentication, authorization and audit log for every route.
//
// Each denied request and each change, successful or not, writes one line to the journal: user, address, request,
// status. Authentication with PAM is asynchronous and does not block other requests.
#pragma once

#include <atomic>
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
  // Must outlive the server; null while the rules do not ask PAM.
  std::shared_ptr<const std::atomic<auth::PamClient*>> pam_client;
};

http::Handler authorize(AuthorizationOptions options, http::Handler next);

}  // namespace nrd::routing
