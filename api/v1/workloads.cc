#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "api/rmd/texts.h"
#include "api/rmd/wire_shape.h"
#include "api/routing/etag.h"
#include "api/routing/query.h"
#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "api/v1/parse_workload.h"
#include "api/v1/requester.h"
#include "api/v1/response_cache.h"
#include "api/v1/workload_etag.h"
#include "api/v1/workload_json.h"
#include "base/json/reader.h"
#include "base/sha256.h"
#include "base/split.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"
#include "engine/workload_poll.h"
#include "engine/workload_service.h"

namespace nrd::v1 {
namespace {

constexpr int kOk = 200;

http::Response refused(const Error& error, routing::ErrorStyle style) {
  return problem_response(routing::problem_of_workload(error), style);
}

http::Response no_such_workload(routing::ErrorStyle style) {
  return refused(fail(ErrorCode::NotFound, "there is no such workload").value(), style);
}

// RMD answers 200 with a line of text here. Clients that accept JSON, or have an origin of their own, get a 403
// instead.
http::Response refuse_foreign_origin(const routing::Call& call, const Workload& workload, std::string_view line) {
  const std::string& origin = call.request.origin;
  if (call.error_style == routing::ErrorStyle::Text && origin == kOriginRest) {
    return http::plain(kOk, line);
  }
  const std::string reason = fmt::format("the workload has origin {}; this client changes only workloads of origin {}",
                                         workload.origin, origin);
  return problem_response({.status = 403,
                           .code = "Forbidden",
                           .line = origin == kOriginRest ? std::string(line) : reason,
                           .detail = reason},
                          call.error_style);
}

// To the member of the body that has the request for CPUs: the engine knows it as `cpu`.
Error pointing_at(const std::string& cpu_member, Error error) {
  constexpr std::string_view kCpu = "/cpu";
  if (error.field == kCpu || error.field.starts_with("/cpu/")) error.field.replace(0, kCpu.size(), "/" + cpu_member);
  return error;
}

// How to answer a write, which outlives the request.
struct Pending {
  http::Reply reply;
  routing::ErrorStyle style;
  rmd::Shape shape{};
  std::string cpu_member = "cpu";
  std::string uuid{};

  void use(const json::Value& body) {
    shape = rmd::shape_of(body);
    cpu_member = cpu_member_of(body);
  }
  void refuse(const Error& error) const {
    const Error pointed = pointing_at(cpu_member, rmd::pointing_into(shape, error));
    reply.send(problem_response(routing::problem_of_workload(pointed, uuid), style));
  }
  // Answers with `show` of the result, or refuses.
  template <typename T, typename Show>
  WorkloadService::Answer<T> with(Show show) const {
    return [pending = *this, show](const Result<T>& result) {
      result ? pending.reply.send(show(*result)) : pending.refuse(result.error());
    };
  }
};

http::Response with_workload(int status, const NodeState& state, const Workload& workload,
                             const JsonOptions& options = {}, std::string_view if_none_match = {}) {
  std::string text = workload_json(state, workload, options);
  const std::string etag = etag_of(workload, text);
  return routing::with_etag(routing::json_answer(status, std::move(text)), etag, state.revision, if_none_match);
}

// "COS2, CPUs 4-5 of pool fast, cache 0: 600, cache 1: 3, frequency of CPUs 4-5"
std::string grant_text(const Workload& workload) {
  const Grant& grant = workload.grant;
  std::string text = grant.has_class() ? text_of(grant.clos) : "no class";
  for (const CpuGrant& cpu : cpu_grants_of(workload))
    text += (cpu.exclusive.empty() ? ", in pool " : fmt::format(", CPUs {} of pool ", cpu.exclusive.to_string())) +
            cpu.pool;
  for (const auto& [cache, ways] : grant.ways) {
    text += fmt::format(", {}: {}", text_of(cache), ways.hex());
  }
  CpuSet cpus;
  for (const auto& [cpu, setting] : grant.frequencies) cpus.add(cpu);
  return cpus.empty() ? text : fmt::format("{}, frequency of CPUs {}", text, cpus.to_string());
}

// For the audit line of a change.
http::Response with_audit(http::Response response, const Workload& workload, bool is_forced) {
  const Spec& spec = workload.spec;
  response.audit.emplace_back("WORKLOAD", id_text(workload));
  if (!spec.uuid.empty()) response.audit.emplace_back("UUID", spec.uuid);
  if (!spec.name.empty()) response.audit.emplace_back("NAME", spec.name);
  response.audit.emplace_back("GRANTED", grant_text(workload));
  if (is_forced) response.audit.emplace_back("FORCED", "origin " + workload.origin);
  return response;
}

// 202 if the change waits for an operation.
http::Response as_accepted(http::Response response, const Done& done) {
  if (!done.operation) return response;
  response.status = 202;
  response.headers.emplace_back("Location", fmt::format("/v1/operations/{}", *done.operation));
  return response;
}

http::Response created(const Changed& made, const std::string& ratio) {
  const Workload& workload = made.done.workload;
  http::Response response = with_workload(201, *made.done.state, workload,
                                          {.ratio = ratio, .operation = made.done.operation, .launch = made.launch});
  if (!made.done.operation) response.headers.emplace_back("Location", "/v1/workloads/" + id_text(workload));
  return with_audit(as_accepted(std::move(response), made.done), workload, false);
}

http::Response patched(const Changed& made, bool is_forced) {
  const Workload& workload = made.done.workload;
  http::Response response =
      with_workload(kOk, *made.done.state, workload, {.operation = made.done.operation, .launch = made.launch});
  return with_audit(as_accepted(std::move(response), made.done), workload, is_forced);
}

// 200, not 204: clients of RMD treat any other status as a failure and retry forever.
http::Response deleted(const Changed& made, bool is_forced) {
  return with_audit({.status = kOk}, made.done.workload, is_forced);
}

// ?force=true: change a workload of another origin.
Result<bool> is_forced(const http::Request& request) {
  const bool is_given = TRY(routing::flag_in_query(request.query, "force"));
  if (!is_given) return false;
  const bool is_local = request.peer->transport == http::Peer::Transport::Unix && request.origin == kOriginRest;
  if (request.client.is_privileged && is_local) return true;
  return fail_at(ErrorCode::Forbidden, "?force",
                 "only administrators on a Unix socket without an origin may force a change",
                 "no force, or such a Unix socket");
}

http::Response tried(const Done& dry_run) { return v1::dry_run(routing::json_answer(kOk, dry_run_json(dry_run))); }

// "team=trading,rack": both, rack with any value.
auto labels_in(std::string_view text) {
  decltype(Selection::labels) labels;
  while (!text.empty()) {
    const std::string_view label = take_until(text, ',');
    const size_t equals = label.find('=');
    const bool has_value = equals != label.npos;
    labels.emplace_back(label.substr(0, equals),
                        has_value ? std::optional<std::string>(label.substr(equals + 1)) : std::nullopt);
  }
  return labels;
}

// The query of GET /v1/workloads.
struct ListQuery {
  Selection selection;
  routing::Wait wait;
};

Result<ListQuery> parse_list_query(const routing::Query& query) {
  const routing::Wait wait = TRY(routing::wait_in_query(query));
  ListQuery parsed{.selection = {.uuid = routing::text_in_query(query, "uuid"),
                                 .origin = routing::text_in_query(query, "origin"),
                                 .name = routing::text_in_query(query, "name")},
                   .wait = wait};
  parsed.selection.labels = labels_in(routing::text_in_query(query, "label").value_or(""));
  return parsed;
}

http::Response listed(Bodies& bodies, const std::shared_ptr<const NodeState>& state, const ListQuery& query,
                      std::string_view if_none_match) {
  if (query.selection.is_whole()) {
    const auto whole = bodies.workloads.text(state);
    return routing::with_etag(routing::json_answer(kOk, whole->text), whole->tag, state->revision, if_none_match);
  }
  std::string text = selection_json(*state, query.selection);
  const std::string tag = routing::etag_of(text);
  return routing::with_etag(routing::json_answer(kOk, std::move(text)), tag, state->revision, if_none_match);
}

Result<std::optional<IdempotencyKey>> parse_key(const http::Request& request) {
  constexpr size_t kLongest = 255;
  const std::string& key = request.idempotency_key;
  if (key.empty()) return std::optional<IdempotencyKey>();
  const bool is_plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
  if (is_plain && key.size() <= kLongest) {
    return std::optional(
        IdempotencyKey{.key = key, .request_hash = sha256_of(request.body), .client = request.client.client_key});
  }
  return fail_at(ErrorCode::BadRequest, "Idempotency-Key", "is too long or has invalid characters",
                 "1 to 255 visible ASCII characters");
}

// The conditions of a PUT: If-Match, If-None-Match and ?force.
Result<WorkloadReplacement> parse_conditions(const http::Request& request, const NodeState& state,
                                             std::string_view id) {
  WorkloadReplacement parsed;
  parsed.is_forced = TRY(is_forced(request));
  parsed.must_be_new = request.if_none_match == "*";
  if (!request.if_none_match.empty() && !parsed.must_be_new) {
    return fail_at(ErrorCode::BadRequest, "If-None-Match", "is only allowed as *, to create and never replace", "*");
  }
  if (request.if_match.empty()) return parsed;
  const Workload* found = workload_with_id(state, id);
  parsed.known = found ? found->id : WorkloadId{0};
  if (found) parsed.if_revision = revisions_of(request.if_match, found->id);
  return parsed;
}

// The request body with lower-case keys, or the error response.
tl::expected<json::Value, http::Response> body_of(const routing::Call& call) {
  const Result<json::Value> body = json::parse(call.request.body);
  if (!body) return tl::unexpected(problem_response(routing::problem_of_body(body.error()), call.error_style));
  Result<json::Value> folded = rmd::with_canonical_keys(*body);
  if (!folded) return tl::unexpected(refused(folded.error(), call.error_style));
  return *std::move(folded);
}

struct Target {
  WorkloadId id;
  bool is_forced;
};

// The workload that the client may change, or the answer to a client that may not; `line` is RMD's.
tl::expected<Target, http::Response> target_of(const routing::Call& call, const NodeState& state, const Requester& who,
                                               std::string_view line) {
  const Workload* found = call.workloads.find(state, who, call.id);
  if (!found) return tl::unexpected(no_such_workload(call.error_style));
  const Result<bool> forced = is_forced(call.request);
  if (!forced) return tl::unexpected(refused(forced.error(), call.error_style));
  if (found->origin != who.origin && !*forced) return tl::unexpected(refuse_foreign_origin(call, *found, line));
  return Target{found->id, *forced};
}

}  // namespace

void list_workloads(const routing::Call& call, http::Reply reply) {
  const Result<ListQuery> query = parse_list_query(call.request.query);
  if (!query) return reply.send(refuse(query.error(), call.error_style));
  const auto state = call.engine.state();
  const std::string& known = call.request.if_none_match;
  const auto& [since, longest] = query->wait;
  if (longest.count() == 0 || since != state->revision) {
    return reply.send(listed(call.bodies, state, *query, known));
  }
  call.poll.wait(call.request.client, call.engine, state, longest,
                 [reply, &bodies = call.bodies, query = *query, known](const std::shared_ptr<const NodeState>& now) {
                   reply.send(listed(bodies, now, query, known));
                 });
}

void show_workload(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Workload* found = call.workloads.find(*state, requester_of(call.request), call.id);
  if (!found) return reply.send(no_such_workload(call.error_style));
  reply.send(with_workload(kOk, *state, *found, {}, call.request.if_none_match));
}

void create_workload(const routing::Call& call, http::Reply reply) {
  Pending pending{std::move(reply), call.error_style};
  const Result<bool> is_dry = routing::flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return pending.refuse(is_dry.error());
  Result<std::optional<IdempotencyKey>> key = parse_key(call.request);
  if (!key) return pending.refuse(key.error());
  const auto body = body_of(call);
  if (!body) return pending.reply.send(body.error());
  const auto state = call.engine.state();
  Result<NewWorkload> workload = parse_workload(*body, *state);
  if (!workload) return pending.refuse(workload.error());
  workload->key = *std::move(key);
  pending.use(*body);
  pending.uuid = workload->spec.uuid;
  const Requester who = requester_of(call.request);
  if (*is_dry) return call.workloads.dry_run(who, *workload, pending.with<Done>(tried));
  const auto show = [ratio = rmd::ratio_literal(*body)](const Changed& made) { return created(made, ratio); };
  call.workloads.create(who, *workload, pending.with<Changed>(show));
}

void patch_workload(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Requester who = requester_of(call.request);
  const auto target = target_of(call, *state, who, rmd::kMayNotModify);
  if (!target) return reply.send(target.error());
  Pending pending{std::move(reply), call.error_style};
  const Result<bool> is_dry = routing::flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return pending.refuse(is_dry.error());
  const auto body = body_of(call);
  if (!body) return pending.reply.send(body.error());
  Result<WorkloadPatch> patch = parse_workload_patch(*body, *state, state->workloads.at(target->id));
  if (!patch) return pending.refuse(patch.error());
  patch->id = target->id;
  patch->if_revision = revisions_of(call.request.if_match, target->id);
  pending.use(*body);
  if (*is_dry) return call.workloads.dry_run(who, *patch, pending.with<Done>(tried));
  const auto show = [forced = target->is_forced](const Changed& made) { return patched(made, forced); };
  call.workloads.patch(who, *patch, pending.with<Changed>(show));
}

void put_workload(const routing::Call& call, http::Reply reply) {
  Pending pending{std::move(reply), call.error_style};
  const auto state = call.engine.state();
  const Result<WorkloadReplacement> conditions = parse_conditions(call.request, *state, call.id);
  if (!conditions) return pending.refuse(conditions.error());
  const Result<bool> is_dry = routing::flag_in_query(call.request.query, "dry_run");
  if (!is_dry) return pending.refuse(is_dry.error());
  const auto body = body_of(call);
  if (!body) return pending.reply.send(body.error());
  WorkloadReplacement replacement = *conditions;
  Result<NewWorkload> workload = parse_replacement(*body, *state, std::string(call.id));
  if (!workload) return pending.refuse(workload.error());
  replacement.workload = *std::move(workload);
  pending.use(*body);
  pending.uuid = replacement.workload.spec.uuid;
  const Requester who = requester_of(call.request);
  if (*is_dry) return call.workloads.dry_run(who, replacement, pending.with<Done>(tried));
  const auto show = [ratio = rmd::ratio_literal(*body), forced = replacement.is_forced](const Changed& made) {
    return made.done.is_new ? created(made, ratio) : patched(made, forced);
  };
  call.workloads.put(who, replacement, pending.with<Changed>(show));
}

void delete_workload(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const Requester who = requester_of(call.request);
  const auto target = target_of(call, *state, who, rmd::kMayNotDelete);
  if (!target) return reply.send(target.error());
  const Pending pending{std::move(reply), call.error_style};
  const auto show = [forced = target->is_forced](const Changed& made) { return deleted(made, forced); };
  call.workloads.remove(who, {.id = target->id, .if_revision = revisions_of(call.request.if_match, target->id)},
                        pending.with<Changed>(show));
}

}  // namespace nrd::v1
