#include "api/v1/workloads.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "api/rmd/texts.h"
#include "api/v1/answer.h"
#include "api/v1/bandwidth_json.h"
#include "api/v1/case_insensitive_keys.h"
#include "api/v1/dry_run_json.h"
#include "api/v1/etag.h"
#include "api/v1/frequency_json.h"
#include "api/v1/onload/workload_onload.h"
#include "api/v1/own.h"
#include "api/v1/owner_json.h"
#include "api/v1/problem.h"
#include "api/v1/query.h"
#include "api/v1/task_json.h"
#include "api/v1/workload_json.h"
#include "base/sha256.h"
#include "base/json/reader.h"
#include "engine/owner_cleanup.h"
#include "engine/plan/dry_run.h"

namespace nrd::v1 {
namespace {

http::Response refused(const Error& error, ErrorStyle style) { return render(problem_of_workload(error), style); }

http::Response no_such_workload(ErrorStyle style) {
  return refused({ErrorCode::NotFound, {}, "there is no such workload", {}, {}, {}}, style);
}

// RMD answers 200 with a line of text here. Clients that accept JSON get a 403 instead.
http::Response refuse_foreign_origin(const Workload& workload, std::string_view line, ErrorStyle style) {
  if (style == ErrorStyle::Text) {
    return {.status = 200, .content_type = "text/plain", .body = std::string(line) + "\n", .headers = {}};
  }
  return render(
      {.status = 403,
       .code = "Forbidden",
       .line = std::string(line),
       .detail = "the workload has origin " + workload.origin + "; this API changes only workloads of origin REST",
       .field = {},
       .allowed = {}},
      style);
}

// Context for the reply to a write, which outlives the request.
struct Pending {
  http::Reply reply;
  ErrorStyle style;
  Client client;
  Shape shape{};
  std::string uuid = {};
  std::function<void()> before_reply = [] {};  // runs before the reply, on success and failure
};

void refuse(Pending& pending, const Error& error) {
  pending.before_reply();
  pending.reply.send(render(problem_of_workload(pointing_into(pending.shape, error), pending.uuid), pending.style));
}

// `answer` renders the response from the result.
void submit(Engine& engine, Command command, Pending pending, std::function<http::Response(const Done&)> answer) {
  // A std::function must be copyable, a Reply is not.
  const auto waiting = std::make_shared<Pending>(std::move(pending));
  const auto done = [waiting, answer = std::move(answer)](const Outcome& outcome) {
    if (!outcome) return refuse(*waiting, outcome.error());
    waiting->before_reply();
    waiting->reply.send(answer(*outcome));
  };
  engine.submit(std::move(command), {done, waiting->client});
}

Result<Spec> with_owner(const Call& call, const json::Value& body, Spec spec) {
  const std::optional<OwnerRequest> requested = TRY(parse_owner(body));
  if (!requested) return spec;
  store::Owner owner = TRY(find_owner(call.owners, *requested, call.request));
  spec.owner = std::move(owner);
  return spec;
}

// Resolves tasks and owner to running processes. Fails if one of them has exited.
Result<Spec> with_tasks_and_owner(const Call& call, const json::Value& body, Spec spec) {
  return with_tasks(body, *call.engine.state(), std::move(spec)).and_then([&](Spec parsed) {
    return with_owner(call, body, std::move(parsed));
  });
}

constexpr int kOk = 200;

http::Response with_workload(int status, const NodeState& state, const Workload& workload,
                             const RenderOptions& options = {}) {
  return with_etag(json_answer(status, render_workload(state, workload, options)), etag_of(state, workload),
                   state.revision, {});
}

http::Response created(const Done& done, const RenderOptions& options) {
  http::Response response = with_workload(201, *done.state, done.workload, options);
  response.headers.emplace_back("Location", "/v1/workloads/" + id_text(done.workload));
  return response;
}

http::Response patched(const Done& done, const RenderOptions& options) {
  return with_workload(kOk, *done.state, done.workload, options);
}

// 200, not 204: clients of RMD treat any other status as a failure and retry forever.
http::Response deleted(const Done&) { return {.status = kOk, .content_type = {}, .body = {}, .headers = {}}; }

template <typename Command>
http::Response dry_run_response(const Engine& engine, const Command& command, const Pending& pending) {
  const auto state = engine.state();
  const Time now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const Result<plan::DryRun> dry_run = plan::dry_run(*state, command, now);
  if (dry_run) return json_answer(kOk, render_dry_run(*state, *dry_run));
  return render(problem_of_workload(pointing_into(pending.shape, dry_run.error()), pending.uuid), pending.style);
}

// A create or patch that has not reached the engine yet.
template <typename Command>
struct PendingChange {
  Command command;
  Pending pending;
  bool is_dry = false;
  std::string ratio = {};  // as the client wrote it
  http::Response (*answer)(const Done&, const RenderOptions&);
};

template <typename Command>
void run(Engine& engine, PendingChange<Command> change, std::shared_ptr<const onload::Admitted> admitted) {
  if (change.is_dry) return change.pending.reply.send(dry_run_response(engine, change.command, change.pending));
  submit(engine, std::move(change.command), std::move(change.pending),
         [answer = change.answer, ratio = change.ratio, admitted = std::move(admitted)](const Done& done) {
           return answer(done, {.ratio = ratio, .launch = admitted ? &admitted->launch : nullptr});
         });
}

void put_onload(CreateWorkload& command, store::OnloadUse use) { command.spec.onload = std::move(use); }
void put_onload(PatchWorkload& command, store::OnloadUse use) { command.patch.onload = std::optional(std::move(use)); }

// A std::function must be copyable, a Reply is not.
template <typename Command>
using Waiting = std::shared_ptr<PendingChange<Command>>;

// Runs the change once `allocations` has admitted its Onload request.
template <typename Command>
void run_admitted(Engine& engine, onload::Allocations& allocations, const Waiting<Command>& waiting,
                  const onload::RenderRequest& onload_request, onload::Allocations::Place place) {
  const auto done = [waiting, onload_request, &engine](Result<onload::Admitted> admitted) {
    if (!admitted) {
      return waiting->pending.reply.send(refused(within_onload(std::move(admitted.error())), waiting->pending.style));
    }
    put_onload(waiting->command, use_of(onload_request, admitted->launch));
    run(engine, std::move(*waiting), std::make_shared<const onload::Admitted>(*std::move(admitted)));
  };
  allocations.admit(onload_request, place, {done, waiting->pending.client});
}

// Repeats the first response, whatever the state of Onload is now. Includes the launch environment only if it is
// unchanged.
void replay(onload::Allocations& allocations, const Waiting<CreateWorkload>& waiting,
            const std::optional<onload::RenderRequest>& onload_request, const Done& done) {
  const auto send = [waiting, done](const onload::LaunchEnvironment* launch) {
    waiting->pending.before_reply();
    waiting->pending.reply.send(waiting->answer(done, {.ratio = waiting->ratio, .launch = launch}));
  };
  if (!onload_request) return send(nullptr);
  allocations.admit(*onload_request, onload::Allocations::Place::Kept,
                    [onload_request, done, send](const Result<onload::Admitted>& admitted) {
                      const bool is_same =
                          admitted && done.workload.spec.onload == use_of(*onload_request, admitted->launch);
                      send(is_same ? &admitted->launch : nullptr);
                    });
}

// Replays the response if the idempotency key is known, otherwise calls `first_time`. Both run on the thread of the
// request, because the engine thread may outlive `allocations`.
void run_once(const Call& call, const Waiting<CreateWorkload>& waiting,
              const std::optional<onload::RenderRequest>& onload_request, std::function<void()> first_time) {
  CreateWorkload lookup = waiting->command;
  lookup.only_asks = true;
  const auto done = [waiting, onload_request, later = call.request.later, &allocations = call.allocations,
                     first_time = std::move(first_time)](const Outcome& outcome) {
    if (!outcome && outcome.error().code != ErrorCode::NotFound) return refuse(waiting->pending, outcome.error());
    later([waiting, onload_request, &allocations, first_time, outcome] {
      if (!outcome) return first_time();
      replay(allocations, waiting, onload_request, *outcome);
    });
  };
  call.engine.submit(std::move(lookup), {done, call.request.client});
}

http::Response listed(Bodies& bodies, const std::shared_ptr<const NodeState>& state, const ListQuery& query,
                      std::string_view if_none_match) {
  if (query.is_whole()) {
    const auto whole = bodies.workloads.text(state);
    return with_etag(json_answer(kOk, whole->text), whole->tag, state->revision, if_none_match);
  }
  std::string text = render_chosen(*state, query.uuid, query.origin);
  const std::string tag = etag_of(text);
  return with_etag(json_answer(kOk, std::move(text)), tag, state->revision, if_none_match);
}

Result<std::optional<IdempotencyKey>> parse_key(const http::Request& request) {
  constexpr size_t kLongest = 255;
  const std::string& key = request.idempotency_key;
  if (key.empty()) return std::optional<IdempotencyKey>();
  const bool is_plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
  if (is_plain && key.size() <= kLongest) {
    return std::optional(IdempotencyKey{.key = key, .request_hash = sha256_of(request.body)});
  }
  return fail_at(ErrorCode::BadRequest, "Idempotency-Key", "is too long or has invalid characters",
                 "1 to 255 visible ASCII characters");
}

// kLastCpu if the node reports no possible CPUs.
CpuId last_possible_cpu(const NodeState& state) {
  const std::vector<CpuId> possible = state.facts.rdt.possible.members();
  return possible.empty() ? kLastCpu : possible.back();
}

// The request body with lower-case keys, or the error response.
tl::expected<json::Value, http::Response> body_of(const Call& call) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return tl::unexpected(render(problem_of_body(body.error()), call.error_style));
  Result<json::Value> folded = with_canonical_keys(*body);
  if (!folded) return tl::unexpected(refused(folded.error(), call.error_style));
  return *std::move(folded);
}

}  // namespace

void list_workloads(const Call& call, http::Reply reply) {
  const Result<ListQuery> query = parse_list_query(call.request.query);
  if (!query) return reply.send(render(problem_of_request(query.error()), call.error_style));
  const auto state = call.engine.state();
  const std::string& known = call.request.if_none_match;
  if (query->wait.count() == 0 || query->since != state->revision) {
    return reply.send(listed(call.bodies, state, *query, known));
  }
  // A std::function must be copyable, a Reply is not.
  const auto waiting = std::make_shared<http::Reply>(std::move(reply));
  call.watchers.wait(
      call.request.client, call.engine, state, query->wait,
      [waiting, &bodies = call.bodies, query = *query, known](const std::shared_ptr<const NodeState>& now) {
        waiting->send(listed(bodies, now, query, known));
      });
}

void show_workload(const Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Workload* found = addressed_workload(call, *state);
  if (!found) return reply.send(no_such_workload(call.error_style));
  const std::string etag = etag_of(*state, *found);
  reply.send(
      with_etag(json_answer(kOk, render_workload(*state, *found)), etag, state->revision, call.request.if_none_match));
}

void create_workload(const Call& call, http::Reply reply) {
  const Result<bool> is_dry = flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return reply.send(refused(is_dry.error(), call.error_style));
  const Result<std::optional<IdempotencyKey>> key = parse_key(call.request);
  if (!key) return reply.send(refused(key.error(), call.error_style));
  const auto body = body_of(call);
  if (!body) return reply.send(body.error());
  Result<Spec> spec = parse_spec(*body, last_possible_cpu(*call.engine.state()));
  if (!spec) {
    return reply.send(refused(naming_the_unit(*call.engine.state(), spec.error()), call.error_style));
  }
  const Result<OnloadRequest> onload = parse_onload(*body, Null::IsAbsent);
  if (!onload) return reply.send(refused(onload.error(), call.error_style));
  const std::optional<onload::RenderRequest>& onload_request = onload->request;
  const auto waiting = std::make_shared<PendingChange<CreateWorkload>>(PendingChange<CreateWorkload>{
      .command = {.spec = *spec, .key = *key},
      .pending = {std::move(reply), call.error_style, call.request.client, shape_of(*body), spec->uuid},
      .is_dry = *is_dry,
      .ratio = ratio_literal(*body),
      .answer = created});
  const bool may_be_replay = *key && !*is_dry;
  Result<Spec> whole = with_tasks_and_owner(call, *body, *std::move(spec));
  if (!whole) {
    // A task or the owner may have exited since the original request.
    const auto refuse_it = [waiting, error = whole.error()] {
      waiting->pending.reply.send(refused(error, waiting->pending.style));
    };
    return may_be_replay ? run_once(call, waiting, onload_request, refuse_it) : refuse_it();
  }
  if (const auto problem = refuse_if_not_own(call, *whole)) {
    return waiting->pending.reply.send(render(*problem, call.error_style));
  }
  if (whole->owner) {
    waiting->pending.before_reply = [&engine = call.engine, &owners = call.owners, owner = *whole->owner] {
      end_with_owner(engine, owners, owner);
    };
  }
  waiting->command.spec = *std::move(whole);
  if (!onload_request) return run(call.engine, std::move(*waiting), nullptr);
  const auto admit = [waiting, onload_request, &engine = call.engine, &allocations = call.allocations] {
    run_admitted(engine, allocations, waiting, *onload_request, onload::Allocations::Place::New);
  };
  // Do not admit a replayed request a second time.
  return may_be_replay ? run_once(call, waiting, onload_request, admit) : admit();
}

void patch_workload(const Call& call, http::Reply reply) {
  // As in RMD, 404 takes precedence over errors in the body. The engine returns 404 if the workload is deleted
  // concurrently.
  const auto state = call.engine.state();
  const Workload* found = addressed_workload(call, *state);
  if (!found) return reply.send(no_such_workload(call.error_style));
  if (found->origin != rmd::kOwnOrigin) {
    return reply.send(refuse_foreign_origin(*found, rmd::kMayNotModify, call.error_style));
  }
  const Result<bool> is_dry = flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return reply.send(refused(is_dry.error(), call.error_style));
  const auto body = body_of(call);
  if (!body) return reply.send(body.error());
  Result<SpecPatch> patch = parse_patch(*body, last_possible_cpu(*state)).and_then([&](SpecPatch parsed) {
    return with_tasks(*body, *state, std::move(parsed));
  });
  if (!patch) return reply.send(refused(naming_the_unit(*state, patch.error()), call.error_style));
  if (const auto problem = refuse_if_not_own(call, *patch)) return reply.send(render(*problem, call.error_style));
  const Result<OnloadRequest> onload = parse_onload(*body, Null::Removes);
  if (!onload) return reply.send(refused(onload.error(), call.error_style));
  if (onload->is_named && !onload->request) patch->onload = std::optional<store::OnloadUse>();
  PendingChange<PatchWorkload> change{
      .command = {.id = found->id,
                  .patch = *std::move(patch),
                  .if_revision = revisions_of(call.request.if_match, found->id)},
      .pending = {std::move(reply), call.error_style, call.request.client, shape_of(*body)},
      .is_dry = *is_dry,
      .answer = patched};
  if (!onload->request || is_same(*onload->request, found->spec.onload)) {
    return run(call.engine, std::move(change), nullptr);
  }
  run_admitted(call.engine, call.allocations, std::make_shared<PendingChange<PatchWorkload>>(std::move(change)),
               *onload->request,
               found->spec.onload ? onload::Allocations::Place::Kept : onload::Allocations::Place::New);
}

void delete_workload(const Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Workload* found = addressed_workload(call, *state);
  if (!found) return reply.send(no_such_workload(call.error_style));
  if (found->origin != rmd::kOwnOrigin) {
    return reply.send(refuse_foreign_origin(*found, rmd::kMayNotDelete, call.error_style));
  }
  submit(call.engine, DeleteWorkload{.id = found->id, .if_revision = revisions_of(call.request.if_match, found->id)},
         {std::move(reply), call.error_style, call.request.client}, deleted);
}

}  // namespace nrd::v1
