#include "api/v1/onload/onload.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/routing/query.h"
#include "api/v1/onload/answer.h"
#include "api/v1/onload/parse.h"
#include "api/v1/onload/services.h"
#include "base/find_in.h"
#include "base/number.h"
#include "engine/onload/controller.h"
#include "engine/onload/dry_run.h"
#include "engine/onload/interface_spec.h"

namespace nrd::v1 {
namespace {

using namespace onload;

constexpr uint64_t kUsualWait = 30;

// The entry whose number is the {id}.
template <typename Thing>
const Thing* find(const routing::Call& call, const std::vector<Thing>& things, uint64_t Thing::*number) {
  const std::optional<uint64_t> id = parse_number<uint64_t>(call.id);
  return id ? first_with(things, number, *id) : nullptr;
}

http::Response shown(const Status& view) {
  http::Response response = json_response(view);
  response.headers.emplace_back("ETag", fmt::format("\"{}\"", last_generation(view)));
  return response;
}

http::Response shown_operation(const Status& view, uint64_t id, routing::ErrorStyle style) {
  const Operation* found = first_with(view.operations, &Operation::id, id);
  if (!found) return refuse(fail(ErrorCode::NotFound, "the operation is no longer stored"), style);
  return routing::json_answer(200, [&](json::Writer& w) { to_json(w, *found, view.revision); });
}

// Answers with show(view): at once, or with ?since=REVISION once the revision changes or after ?wait=SECONDS.
template <typename Show>
void show_when_changed(const routing::Call& call, http::Reply reply, Show show) {
  const auto since = accept(call, reply, routing::number_in_query(call.request.query, "since", UINT64_MAX));
  if (!since) return;
  const auto wait = accept(call, reply, routing::number_in_query(call.request.query, "wait", routing::kLongestWait));
  if (!wait) return;
  if (*wait && !*since) {
    return reply.send(
        refuse(fail_at(ErrorCode::BadRequest, "?since", "is missing", "the revision of an answer"), call.error_style));
  }
  if (!*since) return reply.send(show(*call.launch->controller.status()));
  const auto answer = [show](const std::shared_ptr<const Status>& view) { return show(*view); };
  call.launch->controller.watch(**since, std::chrono::seconds(wait->value_or(kUsualWait)),
                                answer_with<std::shared_ptr<const Status>>(call, std::move(reply), answer));
}

void apply(const routing::Call& call, http::Reply reply, onload::Spec spec) {
  const auto if_match = accept(call, reply, parse_if_match(call.request.if_match));
  if (if_match)
    call.launch->controller.apply(std::move(spec), *if_match, answer_with<Accepted>(call, std::move(reply), accepted));
}

// ?kind=user or ?kind=orphan; nullopt: both.
Result<std::optional<bool>> orphans_in_query(const http::Request& request) {
  const std::string* kind = find_in(request.query, "kind");
  if (!kind) return std::optional<bool>();
  if (*kind == "orphan" || *kind == "user") return std::optional(*kind == "orphan");
  return fail_at(ErrorCode::BadRequest, "?kind", "is not a valid kind", "user or orphan");
}

// What apply() would do, with the same errors.
void dry_run_onload(const routing::Call& call, http::Reply reply, onload::Spec spec) {
  const auto if_match = accept(call, reply, parse_if_match(call.request.if_match));
  if (!if_match) return;
  const auto show = [style = call.error_style](const DryRun& dry_run) {
    if (const std::optional<Error> refusal = refusal_of(dry_run)) return refuse(*refusal, style);
    return v1::dry_run(json_response(dry_run));
  };
  call.launch->controller.dry_run(std::move(spec), *if_match, answer_with<DryRun>(call, std::move(reply), show));
}

// {KEY: true} for the interface {id}.
void turn(const routing::Call& call, http::Reply reply, InterfaceSwitch what, std::string_view key) {
  const auto to = accept_body(call, reply, [key](const json::Value& body) { return parse_turned(body, key); });
  if (!to) return;
  const auto show = [&onload = call.launch->controller](const Interface& interface) {
    const auto view = onload.status();
    return routing::json_answer(200, [&](json::Writer& w) {
      to_json(w, interface, find(view->interfaces, interface, view->observed.interfaces));
    });
  };
  call.launch->controller.set_interface(std::string(call.id), what, *to,
                                        answer_with<Interface>(call, std::move(reply), show));
}

}  // namespace

void show_onload(const routing::Call& call, http::Reply reply) { show_when_changed(call, std::move(reply), shown); }

void put_onload(const routing::Call& call, http::Reply reply) {
  std::optional<onload::Spec> spec = accept_body(call, reply, parse_spec);
  if (!spec) return;
  const auto dry_run = accept(call, reply, routing::flag_in_query(call.request.query, "dryRun"));
  if (!dry_run) return;
  if (*dry_run) return dry_run_onload(call, std::move(reply), *std::move(spec));
  apply(call, std::move(reply), *std::move(spec));
}

void delete_onload(const routing::Call& call, http::Reply reply) {
  apply(call, std::move(reply), onload::Spec{.state = State::Unloaded});
}

void roll_back_onload(const routing::Call& call, http::Reply reply) {
  const auto to = accept_body(call, reply, parse_rollback, "{}");
  if (to) call.launch->controller.roll_back(*to, answer_with<Accepted>(call, std::move(reply), accepted));
}

void freeze_onload(const routing::Call& call, http::Reply reply) {
  std::optional<Freeze> freeze = accept_body(call, reply, parse_freeze);
  if (freeze) call.launch->controller.set_freeze(*std::move(freeze), answer_when_done(call, std::move(reply)));
}

void list_onload_modules(const routing::Call& call, http::Reply reply) {
  const auto view = call.launch->controller.status();
  const auto write = [](json::Writer& w, const auto& module) { to_json(w, module.second); };
  reply.send(routing::json_answer(200, json::array(view->observed.modules, write)));
}

void list_onload_users(const routing::Call& call, http::Reply reply) {
  call.launch->controller.find_users(answer_with<InUse>(call, std::move(reply), json_response<InUse>));
}

void verify_onload(const routing::Call& call, http::Reply reply) {
  call.launch->controller.verify(answer_with<Verification>(call, std::move(reply), json_response<Verification>));
}

void list_onload_stacks(const routing::Call& call, http::Reply reply) {
  const auto orphans = accept(call, reply, orphans_in_query(call.request));
  if (!orphans) return;
  const auto show = [wanted = *orphans](std::vector<Stack> stacks) {
    if (wanted) std::erase_if(stacks, [&](const Stack& stack) { return stack.orphan != *wanted; });
    return listed(stacks);
  };
  call.launch->controller.read_stacks(answer_with<std::vector<Stack>>(call, std::move(reply), show));
}

void list_onload_interfaces(const routing::Call& call, http::Reply reply) {
  const auto show = [view = call.launch->controller.status()](const std::vector<Interface>& interfaces) {
    return routing::json_answer(200, json::array(interfaces, [&](json::Writer& w, const Interface& interface) {
                                  to_json(w, interface, find(view->interfaces, interface, interfaces));
                                }));
  };
  call.launch->controller.read_interfaces(answer_with<std::vector<Interface>>(call, std::move(reply), show));
}

void accelerate_onload_interface(const routing::Call& call, http::Reply reply) {
  turn(call, std::move(reply), InterfaceSwitch::Acceleration, "enabled");
}

void register_onload_interface(const routing::Call& call, http::Reply reply) {
  turn(call, std::move(reply), InterfaceSwitch::Afxdp, "registered");
}

void list_onload_generations(const routing::Call& call, http::Reply reply) {
  reply.send(listed(call.launch->controller.status()->generations));
}

void show_onload_generation(const routing::Call& call, http::Reply reply) {
  const auto view = call.launch->controller.status();
  const Generation* generation = find(call, view->generations, &Generation::number);
  reply.send(generation == nullptr ? not_found(call, "generation") : json_response(*generation));
}

void list_onload_operations(const routing::Call& call, http::Reply reply) {
  reply.send(listed(call.launch->controller.status()->operations));
}

void show_onload_operation(const routing::Call& call, http::Reply reply) {
  const auto view = call.launch->controller.status();
  const Operation* operation = find(call, view->operations, &Operation::id);
  if (operation == nullptr) return reply.send(not_found(call, "operation"));
  show_when_changed(call, std::move(reply), [id = operation->id, style = call.error_style](const Status& now) {
    return shown_operation(now, id, style);
  });
}

}  // namespace nrd::v1
