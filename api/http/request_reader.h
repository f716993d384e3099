// From a request that the parser let through to the one that handlers get. Pistache's parser has its home here.
//
// The parser is given text that we wrote ourselves: method, target, a fixed Host, a length, the body. None of the
// client's headers reach Pistache's typed header readers, which throw, or answer in the library's words, for many of
// them; nor does a chunk, on which its body reader can spin for ever.
#pragma once

#include <memory>
#include <tl/expected.hpp>

#include "api/http/message.h"
#include "api/http/request_parser.h"

namespace nrd::http {

// One per event_loop; not for several threads.
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
