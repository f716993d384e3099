// Logs the internal reason of failed requests, which clients do not see.
#pragma once

#include "api/http/message.h"

namespace nrd::routing {

// Wraps `next` and logs the causes of its responses, at a limited rate per error code: clients can repeat a failing
// request at will.
http::Handler log_failures(http::Handler next);

}  // namespace nrd::routing
