// Sends responses at once, or from the callback of another thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/routing/answer.h"
#include "api/routing/call.h"
#include "api/routing/problem.h"
#include "base/json/reader.h"

namespace nrd::v1 {

inline http::Response refuse(const Error& error, routing::ErrorStyle style) {
  return problem_response(routing::problem_of_request(error), style);
}

inline http::Response refuse(const Failure& failure, routing::ErrorStyle style) {
  return refuse(failure.value(), style);
}

// The audit marks it: nothing has changed.
inline http::Response dry_run(http::Response response) {
  response.audit.emplace_back("DRY_RUN", "true");
  return response;
}

inline http::Response not_found(const routing::Call& call, const char* what) {
  return refuse(fail(ErrorCode::NotFound, std::string(what) + " not found"), call.error_style);
}

// The value of `result`; nullopt: it failed, and `reply` has refused the request.
template <typename T>
std::optional<T> accept(const routing::Call& call, const http::Reply& reply, Result<T> result) {
  if (result) return *std::move(result);
  reply.send(refuse(result.error(), call.error_style));
  return std::nullopt;
}

// Likewise, the body as `parse` reads it. `absent`: what an empty body counts as.
template <typename Parse>
auto accept_body(const routing::Call& call, const http::Reply& reply, Parse parse, const std::string& absent = {}) {
  using Parsed = typename std::invoke_result_t<Parse, const json::Value&>::value_type;
  const Result<json::Value> body = json::parse(call.request.body.empty() ? absent : call.request.body);
  if (body) return accept(call, reply, Result<Parsed>(parse(*body)));
  reply.send(problem_response(routing::problem_of_body(body.error()), call.error_style));
  return std::optional<Parsed>();
}

template <typename T, typename Show>
Callback<T> answer_with(const routing::Call& call, http::Reply reply, Show show) {
  const auto answer = [reply = std::move(reply), show, style = call.error_style](const Result<T>& done) {
    if (!done) return reply.send(refuse(done.error(), style));
    if constexpr (std::is_void_v<T>) {
      reply.send(show());
    } else {
      reply.send(show(*done));
    }
  };
  return Callback<T>(answer, call.request.client);
}

inline Callback<void> answer_when_done(const routing::Call& call, http::Reply reply) {
  const auto empty = [] { return http::Response{.status = 200}; };
  return answer_with<void>(call, std::move(reply), empty);
}

}  // namespace nrd::v1
