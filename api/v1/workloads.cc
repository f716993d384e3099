#include "api/v1/workloads.h"

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/json/reader.h"
#include "api/v1/answer.h"
#include "api/v1/owner_json.h"
#include "api/v1/problem.h"
#include "api/v1/workload_json.h"
#include "engine/owned_workloads.h"

namespace nrd::v1 {
namespace {

// Ids are decimal counters, one spelling each. Any other text is the id of no workload, as in RMD: 404 and not 400.
std::optional<WorkloadId> parse_id(std::string_view text) {
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || text != std::to_string(id)) return std::nullopt;
  return WorkloadId{id};
}

http::Response no_such_workload(ErrorStyle style) {
  return render(problem_of_workload({ErrorCode::NotFound, {}, "there is no such workload", {}, {}, {}}), style);
}

// What is needed to answer a write when the request is long gone.
struct Pending {
  http::Reply reply;
  ErrorStyle style;
  Shape shape{};
  std::string uuid = {};
};

// `answer` turns what was done into the response.
void submit(Engine& engine, Command command, Pending pending, std::function<http::Response(const Done&)> answer) {
  // A std::function must be copyable, a Reply is not.
  const auto waiting = std::make_shared<Pending>(std::move(pending));
  engine.submit(std::move(command), [waiting, answer = std::move(answer)](const Outcome& outcome) {
    if (outcome) {
      waiting->reply.send(answer(*outcome));
      return;
    }
    const Error error = pointing_into(waiting->shape, outcome.error());
    waiting->reply.send(render(problem_of_workload(error, waiting->uuid), waiting->style));
  });
}

Result<Spec> with_owner(const Call& call, const json::Value& body, Spec spec) {
  const Result<std::optional<OwnerWish>> wish = parse_owner(body);
  if (!wish) return Failure(wish.error());
  if (!*wish) return spec;
  Result<store::Owner> owner = find_owner(call.owners, **wish, call.request);
  if (!owner) return Failure(owner.error());
  spec.owner = *std::move(owner);
  return spec;
}

http::Response created(const Done& done) {
  http::Response response = json_answer(201, render_workload(*done.state, done.workload));
  response.headers.emplace_back("Location", "/v1/workloads/" + std::to_string(done.workload.id.value));
  return response;
}

http::Response patched(const Done& done) { return json_answer(200, render_workload(*done.state, done.workload)); }

// 200 and not 204: clients of RMD take any other status for a failure and try again for ever.
http::Response deleted(const Done&) { return {.status = 200, .content_type = {}, .body = {}, .headers = {}}; }

}  // namespace

void list_workloads(const Call& call, http::Reply reply) {
  reply.send(json_answer(200, *call.bodies.workloads.text(call.engine.state())));
}

void show_workload(const Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const auto id = parse_id(call.id);
  const auto found = id ? state->workloads.find(*id) : state->workloads.end();
  if (found == state->workloads.end()) return reply.send(no_such_workload(call.error_style));
  reply.send(json_answer(200, render_workload(*state, found->second)));
}

void create_workload(const Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(problem_of_body(body.error()), call.error_style));
  Result<Spec> spec =
      parse_spec(*body).and_then([&](Spec parsed) { return with_owner(call, *body, std::move(parsed)); });
  if (!spec) return reply.send(render(problem_of_workload(spec.error()), call.error_style));
  Pending pending{std::move(reply), call.error_style, shape_of(*body), spec->uuid};
  submit(call.engine, CreateWorkload{std::move(*spec)}, std::move(pending),
         [&engine = call.engine, &owners = call.owners](const Done& done) {
           end_with_owner(engine, owners, done.workload);
           return created(done);
         });
}

void patch_workload(const Call& call, http::Reply reply) {
  // 404 comes before any fault of the body, as in RMD. An id that is deleted meanwhile gets its 404 from the engine.
  const auto id = parse_id(call.id);
  if (!id || !call.engine.state()->workloads.contains(*id)) return reply.send(no_such_workload(call.error_style));
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(problem_of_body(body.error()), call.error_style));
  Result<SpecPatch> patch = parse_patch(*body);
  if (!patch) return reply.send(render(problem_of_workload(patch.error()), call.error_style));
  submit(call.engine, PatchWorkload{*id, std::move(*patch)}, {std::move(reply), call.error_style, shape_of(*body)},
         patched);
}

void delete_workload(const Call& call, http::Reply reply) {
  const auto id = parse_id(call.id);
  if (!id) return reply.send(no_such_workload(call.error_style));
  submit(call.engine, DeleteWorkload{*id}, {std::move(reply), call.error_style}, deleted);
}

}  // namespace nrd::v1
