#include <string>
#include <utility>

#include "api/routing/query.h"
#include "api/v1/onload/answer.h"
#include "api/v1/onload/onload.h"
#include "api/v1/onload/parse.h"
#include "api/v1/onload/services.h"
#include "base/find_in.h"
#include "base/number.h"
#include "engine/onload/controller.h"
#include "engine/onload/dry_run.h"

namespace nrd::v1 {
namespace {

using namespace onload;

std::function<void(Result<Accepted>)> answer_accepted(const routing::Call& call, http::Reply reply) {
  return answer_with<Accepted>(call, std::move(reply), accepted);
}

// Rewrites the JSON pointer: the client sent "/max_packets_per_stack", the spec has
// "/parameters/onload/max_packets_per_stack".
Error within_module(Error error, const std::string& module) {
  const std::string prefix = "/parameters/" + module;
  const bool is_within = error.field == prefix || error.field.starts_with(prefix + "/");  // not sfc_resource for sfc
  if (is_within) error.field.erase(0, prefix.size());
  return error;
}

void amend(const routing::Call& call, http::Reply reply, onload::SpecPatch patch, const std::string& module) {
  const auto reload = accept(call, reply, routing::flag_in_query(call.request.query, "reload"));
  if (!reload) return;
  const auto if_match = accept(call, reply, parse_if_match(call.request.if_match));
  if (!if_match) return;
  patch.reload = *reload ? Reload::Allow : Reload::Refuse;
  call.launch->controller.patch(
      std::move(patch), *if_match, [done = answer_accepted(call, std::move(reply)), module](Result<Accepted> result) {
        done(std::move(result).map_error([&](Error e) { return within_module(std::move(e), module); }));
      });
}

}  // namespace

void preflight_onload(const routing::Call& call, http::Reply reply) {
  const auto parse = [](const json::Value& body) -> Result<std::optional<onload::Spec>> {
    if (body.is_object() && body.members().empty()) return std::nullopt;
    return TRY(parse_spec(body));
  };
  auto spec = accept_body(call, reply, parse, "{}");
  if (!spec) return;
  call.launch->controller.dry_run(*std::move(spec), std::nullopt,
                                  answer_with<DryRun>(call, std::move(reply), json_response<DryRun>));
}

void drain_onload(const routing::Call& call, http::Reply reply) {
  const auto how = accept_body(call, reply, parse_drain, "{}");
  if (how) call.launch->controller.drain(*how, answer_accepted(call, std::move(reply)));
}

void undrain_onload(const routing::Call& call, http::Reply reply) {
  call.launch->controller.undrain(answer_accepted(call, std::move(reply)));
}

void cancel_onload_operation(const routing::Call& call, http::Reply reply) {
  const std::optional<uint64_t> id = parse_number<uint64_t>(call.id);
  if (!id) return reply.send(not_found(call, "operation"));
  call.launch->controller.cancel(*id, answer_accepted(call, std::move(reply)));
}

void show_onload_module(const routing::Call& call, http::Reply reply) {
  const auto view = call.launch->controller.status();
  const Module* module = find_in(view->observed.modules, std::string(call.id));
  if (module) return reply.send(json_response(*module));
  reply.send(
      refuse(fail(ErrorCode::NotFound, "this module is not an Onload module or is not loaded"), call.error_style));
}

void patch_onload_parameters(const routing::Call& call, http::Reply reply) {
  const std::string module(call.id);
  auto values =
      accept_body(call, reply, [&](const json::Value& body) { return parse_module_parameters(module, body); });
  if (values) amend(call, std::move(reply), {.parameters = {{module, *std::move(values)}}}, module);
}

void show_control_plane(const routing::Call& call, http::Reply reply) {
  const auto view = call.launch->controller.status();
  reply.send(routing::json_answer(200, [&view](json::Writer& w) { write_control_plane(w, *view); }));
}

void patch_control_plane(const routing::Call& call, http::Reply reply) {
  auto words = accept_body(call, reply, parse_control_plane_patch);
  if (words) amend(call, std::move(reply), {.control_plane = *std::move(words)}, "onload");
}

void restart_control_plane(const routing::Call& call, http::Reply reply) {
  call.launch->controller.restart_control_plane(answer_accepted(call, std::move(reply)));
}

}  // namespace nrd::v1
