#include "api/v1/onload.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "api/json/reader.h"
#include "api/v1/onload_answer.h"
#include "api/v1/onload_json.h"
#include "api/v1/problem.h"

namespace nrd::v1 {
namespace {

using namespace onload;

// The one whose number is the {id}.
template <typename Thing>
http::Response found(const Call& call, const std::vector<Thing>& things, uint64_t Thing::*number, const char* what) {
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(call.id.data(), call.id.data() + call.id.size(), id);
  const bool is_number = error == std::errc() && end == call.id.data() + call.id.size();
  const auto thing = std::ranges::find(things, id, number);
  if (is_number && thing != things.end()) return rendered(*thing);
  return refuse({ErrorCode::NotFound, {}, std::string("there is no such ") + what, {}, {}, {}}, call.error_style);
}

http::Response accepted(const Accepted& done) {
  json::Writer w;
  w.begin_object();
  w.key("generation").number(done.generation);
  w.key("operation");
  done.operation ? w.number(*done.operation) : w.null();
  w.end_object();
  http::Response response = json_answer(done.operation ? 202 : 200, w.take());
  if (done.operation) {
    response.headers.emplace_back("Location", "/v1/onload/operations/" + std::to_string(*done.operation));
  }
  return response;
}

void want(const Call& call, http::Reply reply, Desired desired) {
  const Result<std::optional<uint64_t>> if_match = parse_if_match(call.request.if_match);
  if (!if_match) return reply.send(refuse(if_match.error(), call.error_style));
  call.onload.want(std::move(desired), *if_match, answer_with<Accepted>(call, std::move(reply), accepted));
}

}  // namespace

void show_onload(const Call& call, http::Reply reply) {
  const auto view = call.onload.view();
  http::Response response = rendered(*view);
  const uint64_t number = view->generations.empty() ? 0 : view->generations.back().number;
  response.headers.emplace_back("ETag", "\"" + std::to_string(number) + "\"");
  reply.send(std::move(response));
}

void put_onload(const Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(problem_of_body(body.error()), call.error_style));
  Result<Desired> desired = parse_desired(*body);
  if (!desired) return reply.send(refuse(desired.error(), call.error_style));
  want(call, std::move(reply), *std::move(desired));
}

void delete_onload(const Call& call, http::Reply reply) {
  want(call, std::move(reply), Desired{.state = State::Unloaded});
}

void roll_back_onload(const Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body.empty() ? "{}" : call.request.body);
  if (!body) return reply.send(render(problem_of_body(body.error()), call.error_style));
  const Result<std::optional<uint64_t>> to = parse_rollback(*body);
  if (!to) return reply.send(refuse(to.error(), call.error_style));
  call.onload.roll_back(*to, answer_with<Accepted>(call, std::move(reply), accepted));
}

void freeze_onload(const Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(problem_of_body(body.error()), call.error_style));
  Result<Freeze> freeze = parse_freeze(*body);
  if (!freeze) return reply.send(refuse(freeze.error(), call.error_style));
  call.onload.set_freeze(*std::move(freeze), answer_when_done(call, std::move(reply)));
}

void list_onload_modules(const Call& call, http::Reply reply) {
  json::Writer w;
  w.begin_array();
  const auto view = call.onload.view();
  for (const auto& [name, module] : view->seen.modules) render(w, module);
  w.end_array();
  reply.send(json_answer(200, w.take()));
}

void list_onload_users(const Call& call, http::Reply reply) {
  call.onload.find_users(answer_with<InUse>(call, std::move(reply), rendered<InUse>));
}

void verify_onload(const Call& call, http::Reply reply) {
  call.onload.verify(answer_with<Verification>(call, std::move(reply), rendered<Verification>));
}

void list_onload_stacks(const Call& call, http::Reply reply) {
  call.onload.read_stacks(answer_with<std::vector<Stack>>(call, std::move(reply), listed<std::vector<Stack>>));
}

void list_onload_interfaces(const Call& call, http::Reply reply) {
  call.onload.read_interfaces(
      answer_with<std::vector<Interface>>(call, std::move(reply), listed<std::vector<Interface>>));
}

void list_onload_generations(const Call& call, http::Reply reply) {
  reply.send(listed(call.onload.view()->generations));
}

void show_onload_generation(const Call& call, http::Reply reply) {
  reply.send(found(call, call.onload.view()->generations, &Generation::number, "generation"));
}

void list_onload_operations(const Call& call, http::Reply reply) { reply.send(listed(call.onload.view()->operations)); }

void show_onload_operation(const Call& call, http::Reply reply) {
  reply.send(found(call, call.onload.view()->operations, &Operation::id, "operation"));
}

}  // namespace nrd::v1
