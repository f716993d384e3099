// The client of a request, as the engine sees it.
#pragma once

#include "api/http/message.h"

namespace nrd {
struct Requester;
}

namespace nrd::v1 {

Requester requester_of(const http::Request& request);

}  // namespace nrd::v1
