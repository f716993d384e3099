// How handlers of /v1/onload answer, at once or when the keeper has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/json/writer.h"
#include "api/v1/answer.h"
#include "api/v1/call.h"
#include "api/v1/onload_json.h"
#include "api/v1/problem.h"

namespace nrd::v1 {

inline http::Response refuse(const Error& error, ErrorStyle style) { return render(problem_of_request(error), style); }

template <typename Thing>
http::Response rendered(const Thing& thing) {
  json::Writer w;
  render(w, thing);
  return json_answer(200, w.take());
}

template <typename Things>
http::Response listed(const Things& things) {
  json::Writer w;
  w.begin_array();
  for (const auto& thing : things) render(w, thing);
  w.end_array();
  return json_answer(200, w.take());
}

// A std::function must be copyable, a Reply is not.
template <typename T, typename Show>
std::function<void(Result<T>)> answer_with(const Call& call, http::Reply reply, Show show) {
  const auto pending = std::make_shared<http::Reply>(std::move(reply));
  return [pending, show, style = call.error_style](const Result<T>& done) {
    pending->send(done ? show(*done) : refuse(done.error(), style));
  };
}

inline std::function<void(Result<void>)> answer_when_done(const Call& call, http::Reply reply) {
  const auto pending = std::make_shared<http::Reply>(std::move(reply));
  return [pending, style = call.error_style](const Result<void>& done) {
    pending->send(done ? http::Response{.status = 200, .content_type = {}, .body = {}, .headers = {}}
                       : refuse(done.error(), style));
  };
}

}  // namespace nrd::v1
