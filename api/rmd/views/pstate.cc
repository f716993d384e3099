#include <optional>
#include <string>
#include <utility>

#include "api/rmd/views/handlers.h"
#include "api/routing/answer.h"
#include "api/routing/query.h"
#include "api/v1/answer.h"
#include "api/v1/handlers.h"
#include "base/json/writer.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"
#include "engine/transaction/engine.h"

namespace nrd::rmd {
namespace {

// All CPUs with a threshold, monitored or not.
std::string rmd_format_json(const NodeState& state) {
  json::Writer w;
  w.begin_array();
  for (const auto& [id, workload] : state.workloads) {
    const auto& request = workload.spec.frequency;
    if (!request || !request->threshold) continue;
    for (const CpuId cpu : cpus_of(workload).members()) {
      w.begin_object();
      w.key("core_id").number(cpu.value);
      w.key("monitoring").string(json::name_of(request->monitoring));
      json::write(w.key("ratio_threshold"), *request->threshold);
      w.end_object();
    }
  }
  w.end_array();
  return w.take();
}

}  // namespace

void list_pstates(const routing::Call& call, http::Reply reply) {
  const std::optional<std::string> view = routing::text_in_query(call.request.query, "view");
  if (!view) return v1::list_pstates(call, std::move(reply));
  if (*view != "rmd") {
    const Failure unknown =
        fail_at(ErrorCode::BadRequest, "?view", "unknown view " + json::quoted(*view, json::kQuoted), "rmd");
    return reply.send(v1::refuse(unknown, call.error_style));
  }
  reply.send(routing::json_answer(200, rmd_format_json(*call.engine.state())));
}

}  // namespace nrd::rmd
