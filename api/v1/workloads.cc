#include "api/v1/workloads.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "api/rmd/case_insensitive_keys.h"
#include "api/rmd/texts.h"
#include "api/rmd/wire_shape.h"
#include "api/routing/answer.h"
#include "api/routing/etag.h"
#include "api/routing/problem.h"
#include "api/routing/query.h"
#include "api/v1/parse_workload.h"
#include "api/v1/requester.h"
#include "api/v1/response_cache.h"
#include "api/v1/workload_etag.h"
#include "api/v1/workload_json.h"
#include "base/json/reader.h"
#include "base/sha256.h"
#include "engine/transaction/engine.h"
#include "engine/workload_poll.h"
#include "engine/workload_service.h"

namespace nrd::v1 {
namespace {

http::Response refused(const Error& error, routing::ErrorStyle style) {
  return render(routing::problem_of_workload(error), style);
}

http::Response no_such_workload(routing::ErrorStyle style) {
  return refused({ErrorCode::NotFound, {}, "there is no such workload", {}, {}, {}}, style);
}

// RMD answers 200 with a line of text here. Clients that accept JSON get a 403 instead.
http::Response refuse_foreign_origin(const Workload& workload, std::string_view line, routing::ErrorStyle style) {
  if (style == routing::ErrorStyle::Text) {
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

// How to answer a write, which outlives the request.
struct Pending {
  std::shared_ptr<http::Reply> reply;  // shared, because a std::function must be copyable
  routing::ErrorStyle style;
  rmd::Shape shape{};
  std::string uuid{};

  void refuse(const Error& error) const {
    reply->send(render(routing::problem_of_workload(rmd::pointing_into(shape, error), uuid), style));
  }
  // Answers with `show` of the result, or refuses.
  template <typename T, typename Show>
  WorkloadService::Answer<T> with(Show show) const {
    return [pending = *this, show](const Result<T>& result) {
      result ? pending.reply->send(show(*result)) : pending.refuse(result.error());
    };
  }
};

constexpr int kOk = 200;

http::Response with_workload(int status, const NodeState& state, const Workload& workload,
                             const RenderOptions& options = {}) {
  return routing::with_etag(routing::json_answer(status, render_workload(state, workload, options)),
                            etag_of(state, workload), state.revision, {});
}

http::Response created(const Changed& made, const std::string& ratio) {
  const Workload& workload = made.done.workload;
  http::Response response =
      with_workload(201, *made.done.state, workload, {.ratio = ratio, .launch = made.launch.get()});
  response.headers.emplace_back("Location", "/v1/workloads/" + id_text(workload));
  return response;
}

http::Response patched(const Changed& made) {
  return with_workload(kOk, *made.done.state, made.done.workload, {.launch = made.launch.get()});
}

// 200, not 204: clients of RMD treat any other status as a failure and retry forever.
http::Response deleted(const Changed&) { return {.status = kOk, .content_type = {}, .body = {}, .headers = {}}; }

http::Response previewed(const Preview& preview) {
  return routing::json_answer(kOk, render_dry_run(*preview.state, preview.dry_run));
}

// The query of GET /v1/workloads.
struct ListQuery {
  std::optional<std::string> uuid;
  std::optional<std::string> origin;
  std::optional<uint64_t> since;  // a revision
  std::chrono::seconds wait{};    // how long to wait while the revision equals `since`; 0: no wait
  bool is_whole() const { return !uuid && !origin; }
};

Result<ListQuery> parse_list_query(const routing::Query& query) {
  const auto since = TRY(routing::number_in_query(query, "since", UINT64_MAX));
  const auto wait = TRY(routing::number_in_query(query, "wait", routing::kLongestWait));
  if (wait && !since) {
    return fail_at(ErrorCode::BadRequest, "?wait", "requires since, the last known revision", "both since and wait");
  }
  return ListQuery{.uuid = routing::text_in_query(query, "uuid"),
                   .origin = routing::text_in_query(query, "origin"),
                   .since = since,
                   .wait = std::chrono::seconds(wait.value_or(0))};
}

http::Response listed(Bodies& bodies, const std::shared_ptr<const NodeState>& state, const ListQuery& query,
                      std::string_view if_none_match) {
  if (query.is_whole()) {
    const auto whole = bodies.workloads.text(state);
    return routing::with_etag(routing::json_answer(kOk, whole->text), whole->tag, state->revision, if_none_match);
  }
  std::string text = render_chosen(*state, query.uuid, query.origin);
  const std::string tag = routing::etag_of(text);
  return routing::with_etag(routing::json_answer(kOk, std::move(text)), tag, state->revision, if_none_match);
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

// The request body with lower-case keys, or the error response.
tl::expected<json::Value, http::Response> body_of(const routing::Call& call) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return tl::unexpected(render(routing::problem_of_body(body.error()), call.error_style));
  Result<json::Value> folded = rmd::with_canonical_keys(*body);
  if (!folded) return tl::unexpected(refused(folded.error(), call.error_style));
  return *std::move(folded);
}

}  // namespace

void list_workloads(const routing::Call& call, http::Reply reply) {
  const Result<ListQuery> query = parse_list_query(call.request.query);
  if (!query) return reply.send(render(routing::problem_of_request(query.error()), call.error_style));
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

void show_workload(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Workload* found = call.workloads.find(*state, requester_of(call.request), call.id);
  if (!found) return reply.send(no_such_workload(call.error_style));
  const std::string etag = etag_of(*state, *found);
  reply.send(routing::with_etag(routing::json_answer(kOk, render_workload(*state, *found)), etag, state->revision,
                                call.request.if_none_match));
}

void create_workload(const routing::Call& call, http::Reply reply) {
  Pending pending{std::make_shared<http::Reply>(std::move(reply)), call.error_style};
  const Result<bool> is_dry = routing::flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return pending.refuse(is_dry.error());
  Result<std::optional<IdempotencyKey>> key = parse_key(call.request);
  if (!key) return pending.refuse(key.error());
  const auto body = body_of(call);
  if (!body) return pending.reply->send(body.error());
  const auto state = call.engine.state();
  Result<NewWorkload> workload = parse_workload(*body, *state);
  if (!workload) return pending.refuse(workload.error());
  workload->key = *std::move(key);
  pending.shape = rmd::shape_of(*body);
  pending.uuid = workload->spec.uuid;
  const Requester who = requester_of(call.request);
  if (*is_dry) return call.workloads.preview(who, *workload, pending.with<Preview>(previewed));
  const auto show = [ratio = rmd::ratio_literal(*body)](const Changed& made) { return created(made, ratio); };
  call.workloads.create(who, *workload, pending.with<Changed>(show));
}

void patch_workload(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Requester who = requester_of(call.request);
  const Workload* found = call.workloads.find(*state, who, call.id);
  if (!found) return reply.send(no_such_workload(call.error_style));
  if (found->origin != rmd::kOwnOrigin) {
    return reply.send(refuse_foreign_origin(*found, rmd::kMayNotModify, call.error_style));
  }
  Pending pending{std::make_shared<http::Reply>(std::move(reply)), call.error_style};
  const Result<bool> is_dry = routing::flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return pending.refuse(is_dry.error());
  const auto body = body_of(call);
  if (!body) return pending.reply->send(body.error());
  Result<WorkloadPatch> patch = parse_workload_patch(*body, *state);
  if (!patch) return pending.refuse(patch.error());
  patch->id = found->id;
  patch->if_revision = revisions_of(call.request.if_match, found->id);
  pending.shape = rmd::shape_of(*body);
  if (*is_dry) return call.workloads.preview(who, *patch, pending.with<Preview>(previewed));
  call.workloads.patch(who, *patch, pending.with<Changed>(patched));
}

void delete_workload(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Requester who = requester_of(call.request);
  const Workload* found = call.workloads.find(*state, who, call.id);
  if (!found) return reply.send(no_such_workload(call.error_style));
  if (found->origin != rmd::kOwnOrigin) {
    return reply.send(refuse_foreign_origin(*found, rmd::kMayNotDelete, call.error_style));
  }
  const Pending pending{std::make_shared<http::Reply>(std::move(reply)), call.error_style};
  call.workloads.remove(who, {.id = found->id, .if_revision = revisions_of(call.request.if_match, found->id)},
                        pending.with<Changed>(deleted));
}

}  // namespace nrd::v1
