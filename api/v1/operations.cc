#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "api/routing/query.h"
#include "api/v1/answer.h"
#include "api/v1/cpu_json.h"
#include "api/v1/handlers.h"
#include "api/v1/requester.h"
#include "api/v1/workload_json.h"
#include "base/find_in.h"
#include "base/json/object.h"
#include "base/number.h"
#include "engine/model/node_state.h"
#include "engine/requester.h"
#include "engine/transaction/engine.h"
#include "engine/workload_poll.h"
#include "engine/workload_service.h"

namespace nrd::v1 {
namespace {

void write_operation(json::Writer& w, uint64_t id, const MemoryMove& move) {
  json::write_object(w, {{"id", id},
                         {"workload", move.workload_text},
                         {"target", move.target.name},
                         {"from", move.from},
                         {"to", move.to},
                         {"bytes", move.bytes},
                         {"state", to_string(move.state)},
                         {"started", timestamp(move.started)},
                         {"finished", json::or_null(move.finished ? timestamp(*move.finished) : "")},
                         {"message", move.message}});
}

// nullptr: there is none, or the client may not see its workload.
const MemoryMove* find(const NodeState& state, const WorkloadService& workloads, const Requester& who,
                       std::optional<uint64_t> id) {
  const MemoryMove* move = id ? find_in(state.memory_moves, *id) : nullptr;
  return move && (!who.is_limited_to_own || workloads.find(state, who, move->workload_text)) ? move : nullptr;
}

http::Response shown(const MemoryMove* move, std::optional<uint64_t> id, routing::ErrorStyle style) {
  if (!move) return refuse(fail(ErrorCode::NotFound, "there is no such operation since nrd has started"), style);
  return routing::json_answer(200, [&](json::Writer& w) { write_operation(w, *id, *move); });
}

}  // namespace

void list_operations(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const auto write_each = [](json::Writer& w, const auto& entry) { write_operation(w, entry.first, entry.second); };
  reply.send(routing::json_answer(200, json::array(state->memory_moves, write_each)));
}

void show_operation(const routing::Call& call, http::Reply reply) {
  const auto wait = routing::number_in_query(call.request.query, "wait", routing::kLongestWait);
  if (!wait) return reply.send(refuse(wait.error(), call.error_style));
  const std::optional<uint64_t> id = parse_number<uint64_t>(call.id);
  const auto find_own = [id, &workloads = call.workloads, who = requester_of(call.request)](const NodeState& state) {
    return find(state, workloads, who, id);
  };
  const auto has_ended = [find_own](const NodeState& state) {
    const MemoryMove* move = find_own(state);
    return !move || !move->is_open();
  };
  call.poll.wait_until(call.request.client, call.engine, has_ended, std::chrono::seconds(wait->value_or(0)),
                       [reply, find_own, id, style = call.error_style](const std::shared_ptr<const NodeState>& now) {
                         reply.send(shown(find_own(*now), id, style));
                       });
}

}  // namespace nrd::v1
