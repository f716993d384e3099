// Decompression of request bodies (Content-Encoding). Only inflate.cc uses zlib.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "api/http/request_parser.h"

namespace nrd::http {

// Decodes `encoding` ("gzip", "x-gzip", "deflate"; "" and "identity" change nothing). The body limit applies to the
// decompressed size: 413 at the first byte above it, without inflating further. 400 for corrupt, truncated or trailing
// data; 415 for another encoding.
tl::expected<std::string, RefusedRequest> inflated(std::string body, std::string_view encoding);

}  // namespace nrd::http
