// Converts an accepted raw request to the Request of a handler. Only this module uses Pistache's parser.
//
// Pistache parses a request serialized by nrd: method, target, a fixed Host, a length, the body. No client header
// reaches Pistache's typed header parsers, which throw or respond themselves for many of them, and no chunk reaches its
// body parser, which can loop forever.
#pragma once

#include <memory>
#include <tl/expected.hpp>

#include "api/http/message.h"
#include "api/http/request_parser.h"

namespace nrd::http {

// One per event loop; not thread-safe.
class RequestReader {
 public:
  RequestReader();
  ~RequestReader();

  tl::expected<Request, RefusedRequest> read(RawRequest raw, std::shared_ptr<const Peer> peer);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace nrd::http
