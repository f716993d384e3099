// A JSON response.
#pragma once

#include <string>
#include <utility>

#include "api/http/message.h"

namespace nrd::routing {

inline http::Response json_answer(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

}  // namespace nrd::routing
