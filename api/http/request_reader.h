// Converts an accepted raw request to the Request of a handler: inflates the body, decodes path and query.
#pragma once

#include <memory>
#include <tl/expected.hpp>

#include "api/http/message.h"
#include "api/http/request_parser.h"

namespace nrd::http {

// A parameter that occurs twice is refused: other software could have checked the other value.
tl::expected<Request, RefusedRequest> read_request(RawRequest raw, std::shared_ptr<const Peer> peer);

}  // namespace nrd::http
