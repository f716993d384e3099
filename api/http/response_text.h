// An answer as bytes on the wire.
#pragma once

#include <string>

#include "api/http/message.h"

namespace nrd::http {

struct Framing {
  bool has_body = true;  // false for the answer to a HEAD, which still says how long it would be
  bool closes = false;   // the connection ends with it
};

std::string bytes_of(const Response& response, Framing framing);

}  // namespace nrd::http
