// Converts an accepted raw request to the Request of a handler: inflates the body, decodes path and query.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "api/http/message.h"
#include "api/http/request_parser.h"

namespace nrd::http {

// Percent-decoded once (RFC 3986, section 2.1): "%2541" is "%41". nullopt for a '%' without two hexadecimal digits, and
// for a control character, encoded or not: no path or parameter of the API has one.
std::optional<std::string> percent_decoded(std::string_view text);

// A parameter that occurs twice is refused: other software could have checked the other value.
tl::expected<Request, RefusedRequest> read_request(RawRequest raw, std::shared_ptr<const Peer> peer);

}  // namespace nrd::http
