// Bodies that came compressed (Content-Encoding). zlib has its home in inflate.cc.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "api/http/request_parser.h"

namespace nrd::http {

// The body as it was before `encoding` ("gzip", "x-gzip", "deflate"; "" and "identity": as it is). The limit of a body
// holds for what comes out: 413 at the first byte beyond it, and nothing more is inflated. 400 for what is broken, ends
// too early or goes on after its end; 415 for another encoding.
tl::expected<std::string, RefusedRequest> inflated(std::string body, std::string_view encoding);

}  // namespace nrd::http
