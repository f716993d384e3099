// A JSON response.
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "api/http/message.h"
#include "base/json/object.h"

namespace nrd::routing {

inline http::Response json_answer(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

// What `write` writes.
template <std::invocable<json::Writer&> Write>
http::Response json_answer(int status, const Write& write) {
  return json_answer(status, json::document(write));
}

}  // namespace nrd::routing
