#include <fmt/core.h>

#include <optional>
#include <string>

#include "api/rmd/texts.h"
#include "api/rmd/views/cache.h"
#include "api/rmd/views/handlers.h"
#include "api/rmd/views/hospitality_score.h"
#include "api/rmd/wire_shape.h"
#include "api/routing/answer.h"
#include "api/routing/problem.h"
#include "base/json/members.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/policies.h"
#include "engine/plan/policy.h"
#include "engine/transaction/engine.h"

namespace nrd::rmd {
namespace {

using json::Value;

struct Question {
  CacheRequest cache;
  std::string policy;            // takes precedence over `cache`; empty: none
  std::optional<uint32_t> only;  // limits the answer to the cache with this id
};

// Some encoders write null for an unset field.
Result<std::optional<uint32_t>> parse_number(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  if (!value || value->is_null()) return std::optional<uint32_t>();
  return std::optional(
      TRY(json::parse_value<uint32_t>(*value, json::pointer("", key), {.expected = "a whole number"})));
}

Result<Question> parse_question(const Value& asked) {
  const Value body = TRY(with_canonical_keys(asked));
  TRY(json::require_object("", body, "an object such as {\"max_cache\": 2, \"min_cache\": 2}"));
  TRY(json::check_keys(body, "", {"max_cache", "min_cache", "policy", "cache_id"}));
  const Value* policy = body.find("policy");
  if (policy && !policy->is_null() && !policy->as_string()) return json::wrong_type("/policy", *policy, "a string");
  const auto max = TRY(parse_number(body, "max_cache"));
  const auto min = TRY(parse_number(body, "min_cache"));
  const auto id = TRY(parse_number(body, "cache_id"));
  return Question{.cache = {.max = max.value_or(0), .min = min.value_or(0)},
                  .policy = policy && policy->as_string() ? *policy->as_string() : "",
                  .only = id};
}

// The cache request, taken from the policy if one is named.
Result<CacheRequest> request_of(const NodeState& state, const Question& question) {
  if (question.policy.empty()) return question.cache;
  return plan::policy_named(state, question.policy).and_then([&](const Policy& policy) -> Result<CacheRequest> {
    if (policy.cache) return *policy.cache;
    return fail_at(ErrorCode::BadRequest, "/policy", fmt::format("policy {} requests no cache", question.policy));
  });
}

std::string line_of(const Error& error, const Question& question) {
  return error.code == ErrorCode::NoSuchPolicy ? no_such_policy(question.policy) : reason(error);
}

std::string scores_json(const rdt::Node& node, const std::map<CacheId, unsigned>& scores,
                        std::optional<uint32_t> only) {
  json::Writer w;
  w.begin_object().key("score").begin_object().key(level_name(node)).begin_object();
  for (const auto& [id, score] : scores) {
    if (!only || *only == id.value) w.key(std::to_string(id.value)).number(score);
  }
  w.end_object().end_object().end_object();
  return w.take();
}

}  // namespace

void show_hospitality(const routing::Call& call, http::Reply reply) {
  const Result<Value> body = json::parse(call.request.body);
  if (!body) return reply.send(problem_response(routing::problem_of_body(body.error()), call.error_style));
  const Result<Question> question = parse_question(*body);
  if (!question) {
    return reply.send(
        problem_response(routing::problem_of(question.error(), reason(question.error())), call.error_style));
  }
  const auto state = call.engine.state();
  const Result<CacheRequest> request = request_of(*state, *question);
  if (!request)
    return reply.send(
        problem_response(routing::problem_of(request.error(), line_of(request.error(), *question)), call.error_style));
  const auto scores = hospitality(*state, *request);
  if (!scores) {
    Error error = scores.error();
    error.field = "/min_cache";  // policies have been checked
    return reply.send(
        problem_response(routing::problem_of(error, no_pool(request->max, request->min)), call.error_style));
  }
  reply.send(routing::json_answer(200, scores_json(state->facts.rdt, *scores, question->only)));
}

}  // namespace nrd::rmd
