#include "api/v1/onload/verbs.h"

#include <string>
#include <utility>

#include "api/routing/problem.h"
#include "api/routing/query.h"
#include "api/v1/onload/answer.h"
#include "api/v1/onload/parse.h"
#include "base/json/reader.h"
#include "base/number.h"
#include "engine/onload/controller.h"

namespace nrd::v1 {
namespace {

using namespace onload;

std::function<void(Result<Accepted>)> answer_accepted(const routing::Call& call, http::Reply reply) {
  return answer_with<Accepted>(call, std::move(reply), accepted);
}

// An absent body counts as "{}".
Result<json::Value> body_or_nothing(const routing::Call& call) {
  return json::parse(call.request.body.empty() ? "{}" : call.request.body);
}

// Rewrites the JSON pointer: the client sent "/max_packets_per_stack", the spec has
// "/parameters/onload/max_packets_per_stack".
Error within_module(Error error, const std::string& module) {
  const std::string prefix = "/parameters/" + module;
  if (error.field.starts_with(prefix)) error.field.erase(0, prefix.size());
  return error;
}

void amend(const routing::Call& call, http::Reply reply, onload::SpecPatch patch, const std::string& module) {
  const Result<bool> reload = routing::flag_in_query(call.request.query, "reload");
  if (!reload) return reply.send(refuse(reload.error(), call.error_style));
  const Result<std::optional<uint64_t>> if_match = parse_if_match(call.request.if_match);
  if (!if_match) return reply.send(refuse(if_match.error(), call.error_style));
  patch.reload = *reload ? Reload::Allow : Reload::Refuse;
  call.onload.patch(std::move(patch), *if_match,
                    [done = answer_accepted(call, std::move(reply)), module](Result<Accepted> result) {
                      done(std::move(result).map_error([&](Error e) { return within_module(std::move(e), module); }));
                    });
}

}  // namespace

void preflight_onload(const routing::Call& call, http::Reply reply) {
  std::optional<onload::Spec> spec;
  if (!call.request.body.empty()) {
    const Result<json::Value> body = json::parse(call.request.body);
    if (!body) return reply.send(render(routing::problem_of_body(body.error()), call.error_style));
    const bool is_empty = body->kind() == json::Value::Kind::Object && body->members().empty();
    Result<onload::Spec> parsed = is_empty ? Result<onload::Spec>() : parse_spec(*body);
    if (!parsed) return reply.send(refuse(parsed.error(), call.error_style));
    if (!is_empty) spec = *std::move(parsed);
  }
  call.onload.dry_run(std::move(spec), std::nullopt, answer_with<DryRun>(call, std::move(reply), rendered<DryRun>));
}

void drain_onload(const routing::Call& call, http::Reply reply) {
  const Result<json::Value> body = body_or_nothing(call);
  if (!body) return reply.send(render(routing::problem_of_body(body.error()), call.error_style));
  const Result<Drain> how = parse_drain(*body);
  if (!how) return reply.send(refuse(how.error(), call.error_style));
  call.onload.drain(*how, answer_accepted(call, std::move(reply)));
}

void undrain_onload(const routing::Call& call, http::Reply reply) {
  call.onload.undrain(answer_accepted(call, std::move(reply)));
}

void cancel_onload_operation(const routing::Call& call, http::Reply reply) {
  const std::optional<uint64_t> id = parse_number<uint64_t>(call.id);
  if (!id) {
    return reply.send(refuse({ErrorCode::NotFound, {}, "operation not found", {}, {}, {}}, call.error_style));
  }
  call.onload.cancel(*id, answer_accepted(call, std::move(reply)));
}

void show_onload_module(const routing::Call& call, http::Reply reply) {
  const auto view = call.onload.status();
  const auto module = view->observed.modules.find(std::string(call.id));
  if (module != view->observed.modules.end()) return reply.send(rendered(module->second));
  reply.send(refuse({ErrorCode::NotFound, {}, "this module is not an Onload module or is not loaded", {}, {}, {}},
                    call.error_style));
}

void patch_onload_parameters(const routing::Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(routing::problem_of_body(body.error()), call.error_style));
  const std::string module(call.id);
  Result<std::map<std::string, std::string>> values = parse_module_parameters(module, *body);
  if (!values) return reply.send(refuse(values.error(), call.error_style));
  amend(call, std::move(reply), {.parameters = {{module, *std::move(values)}}}, module);
}

void show_control_plane(const routing::Call& call, http::Reply reply) {
  json::Writer w;
  render_control_plane(w, *call.onload.status());
  reply.send(routing::json_answer(200, w.take()));
}

void patch_control_plane(const routing::Call& call, http::Reply reply) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return reply.send(render(routing::problem_of_body(body.error()), call.error_style));
  Result<std::vector<std::string>> words = parse_control_plane_patch(*body);
  if (!words) return reply.send(refuse(words.error(), call.error_style));
  amend(call, std::move(reply), {.control_plane = *std::move(words)}, "onload");
}

void restart_control_plane(const routing::Call& call, http::Reply reply) {
  call.onload.restart_control_plane(answer_accepted(call, std::move(reply)));
}

}  // namespace nrd::v1
