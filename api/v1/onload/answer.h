// Sends responses of /v1/onload, at once or from the controller's callback.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/routing/answer.h"
#include "api/routing/call.h"
#include "api/routing/problem.h"
#include "api/v1/onload/parse.h"
#include "base/json/writer.h"

namespace nrd::v1 {

inline http::Response refuse(const Error& error, routing::ErrorStyle style) {
  return render(routing::problem_of_request(error), style);
}

template <typename Thing>
http::Response rendered(const Thing& thing) {
  json::Writer w;
  render(w, thing);
  return routing::json_answer(200, w.take());
}

template <typename Things>
http::Response listed(const Things& things) {
  json::Writer w;
  w.begin_array();
  for (const auto& thing : things) render(w, thing);
  w.end_array();
  return routing::json_answer(200, w.take());
}

inline http::Response accepted(const onload::Accepted& done) {
  json::Writer w;
  w.begin_object();
  w.key("generation").number(done.generation);
  w.key("operation").number_or_null(done.operation);
  w.end_object();
  http::Response response = routing::json_answer(done.operation ? 202 : 200, w.take());
  if (done.operation) {
    response.headers.emplace_back("Location", "/v1/onload/operations/" + std::to_string(*done.operation));
  }
  return response;
}

// A std::function must be copyable, a Reply is not.
template <typename T, typename Show>
Callback<T> answer_with(const routing::Call& call, http::Reply reply, Show show) {
  const auto pending = std::make_shared<http::Reply>(std::move(reply));
  const auto answer = [pending, show, style = call.error_style](const Result<T>& done) {
    pending->send(done ? show(*done) : refuse(done.error(), style));
  };
  return Callback<T>(answer, call.request.client);
}

inline Callback<void> answer_when_done(const routing::Call& call, http::Reply reply) {
  const auto pending = std::make_shared<http::Reply>(std::move(reply));
  const auto answer = [pending, style = call.error_style](const Result<void>& done) {
    pending->send(done ? http::Response{.status = 200, .content_type = {}, .body = {}, .headers = {}}
                       : refuse(done.error(), style));
  };
  return Callback<void>(answer, call.request.client);
}

}  // namespace nrd::v1
