// Responses of /v1/onload.
#pragma once

#include <string>

#include "api/v1/answer.h"
#include "api/v1/onload/parse.h"
#include "base/json/object.h"
#include "engine/onload/operation_planner.h"

namespace nrd::v1 {

template <typename Thing>
http::Response json_response(const Thing& thing) {
  return routing::json_answer(200, [&thing](json::Writer& w) { to_json(w, thing); });
}

template <typename Things>
http::Response listed(const Things& things) {
  return routing::json_answer(200, json::array(things, [](json::Writer& w, const auto& thing) { to_json(w, thing); }));
}

inline http::Response accepted(const onload::Accepted& done) {
  http::Response response = routing::json_answer(
      done.operation ? 202 : 200, json::document({{"generation", done.generation}, {"operation", done.operation}}));
  if (done.operation) {
    response.headers.emplace_back("Location", "/v1/onload/operations/" + std::to_string(*done.operation));
  }
  return response;
}

}  // namespace nrd::v1
