#include "engine/onload/allocations.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/v1/onload/answer.h"
#include "api/v1/onload/onload.h"
#include "api/v1/onload/services.h"
#include "api/v1/owner_json.h"
#include "api/v1/requester.h"
#include "api/v1/workload_json.h"
#include "base/json/members.h"
#include "base/json/object.h"
#include "base/json/reader.h"
#include "base/number.h"
#include "engine/model/node_state.h"
#include "engine/owner_watcher.h"
#include "engine/requester.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

using namespace onload;

void write_members(json::Writer& w, const Allocation& allocation) {
  json::write_members(w, {{"id", allocation.id},
                          {"owner", [&](json::Writer& of) { to_json(of, allocation.owner); }},
                          {"generation", allocation.generation},
                          {"version", allocation.version},
                          {"created", timestamp(allocation.created)},
                          {"origin", allocation.origin}});
}

// An allocation of a workload: it ends with the workload and has no id.
void write_of_workload(json::Writer& w, const Workload& workload) {
  json::write_object(w, {{"workload", id_text(workload)},
                         {"generation", workload.spec.onload->generation},
                         {"version", workload.spec.onload->version},
                         {"created", timestamp(workload.created)},
                         {"origin", workload.origin}});
}

http::Response allocated(const Allocated& made) {
  json::Writer w;
  w.begin_object();
  write_members(w, made.allocation);
  write_launch(w, made.launch, "env");
  w.end_object();
  http::Response response = routing::json_answer(201, w.take());
  response.headers.emplace_back("Location", fmt::format("/v1/onload/allocations/{}", made.allocation.id));
  return response;
}

Result<AllocationRequest> parse_allocation(const routing::Call& call, const json::Value& body) {
  RenderRequest what = TRY(parse_render(body, {"owner", "preload"}));
  const bool preload = TRY(json::parse_member(body, "preload", true));
  const std::optional<OwnerRequest> spec = TRY(parse_owner(body));
  if (!spec) {
    return fail_at(ErrorCode::BadRequest, "/owner", "is missing: an allocation needs an owner process",
                   "{\"pid\": 4711} or {\"caller\": true}");
  }
  if (spec->cgroup)
    return fail_at(ErrorCode::BadRequest, "/owner/cgroup", "an allocation ends with a process", "{\"pid\": 4711}");
  const Requester who = requester_of(call.request);
  TRY(check_own(call.owners, who, spec));
  Owner owner = TRY(find_owner(call.owners, *spec, who.caller));
  return AllocationRequest{.what = std::move(what),
                           .preload = preload ? Preload::Yes : Preload::No,
                           .owner = std::move(owner),
                           .origin = who.origin};
}

}  // namespace

void list_allocations(const routing::Call& call, http::Reply reply) {
  json::Writer w;
  w.begin_array();
  const OwnerFilter filter(call.owners, requester_of(call.request));
  const auto known = call.launch->allocations.allocations();
  for (const Allocation& allocation : *known) {
    if (!filter.admits(allocation.owner)) continue;
    w.begin_object();
    write_members(w, allocation);
    w.end_object();
  }
  const auto state = call.engine.state();
  for (const auto& [id, workload] : state->workloads) {
    if (workload.spec.onload && filter.admits(workload.spec.owner)) write_of_workload(w, workload);
  }
  w.end_array();
  reply.send(routing::json_answer(200, w.take()));
}

void create_allocation(const routing::Call& call, http::Reply reply) {
  const auto parse = [&call](const json::Value& body) { return parse_allocation(call, body); };
  std::optional<AllocationRequest> request = accept_body(call, reply, parse);
  if (request)
    call.launch->allocations.allocate(*std::move(request), answer_with<Allocated>(call, std::move(reply), allocated));
}

void delete_allocation(const routing::Call& call, http::Reply reply) {
  const auto id = parse_number<uint64_t>(call.id);
  const auto known = call.launch->allocations.allocations();
  const auto found = std::ranges::find(*known, id, [](const Allocation& each) { return std::optional(each.id); });
  if (found == known->end() || !OwnerFilter(call.owners, requester_of(call.request)).admits(found->owner)) {
    return reply.send(not_found(call, "allocation"));
  }
  const std::string& origin = call.request.origin;
  if (origin != kOriginRest && found->origin != origin) {
    const std::string reason = fmt::format("the allocation has origin {}; this client releases only those of origin {}",
                                           found->origin, origin);
    return reply.send(refuse(fail(ErrorCode::Forbidden, reason), call.error_style));
  }
  call.launch->allocations.release(*id, answer_when_done(call, std::move(reply)));
}

}  // namespace nrd::v1
