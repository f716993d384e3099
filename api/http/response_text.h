// Serializes a response.
#pragma once

#include <string>

#include "api/http/message.h"

namespace nrd::http {

struct Framing {
  bool has_body = true;  // false for HEAD, whose response still has Content-Length
  bool closes = false;   // the connection closes after it
};

std::string bytes_of(const Response& response, Framing framing);

}  // namespace nrd::http
