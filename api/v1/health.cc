

#include <fmt/core.h>

#include "api/routing/answer.h"
#include "api/v1/handlers.h"
#include "base/joined.h"
#include "base/json/object.h"
#include "engine/model/cpu_noise.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

void write_warnings(json::Writer& w, const NodeState& state, const routing::ServiceInfo& service) {
  w.begin_array();
  if (service.debug_port_open) {
    w.string("plain HTTP without authentication is open: every local user can change workloads (--debug)");
  }
  for (const std::string& sentence : state.facts.rdt.missing) w.string(sentence);
  for (const std::string& sentence : cpu_warnings(state)) w.string(sentence);
  if (const std::string holder = service.lock_holder(); !holder.empty()) {
    w.string(fmt::format("the resctrl tree is locked by {}: changes are refused until the lock is released", holder));
  }
  const auto problems = service.declared_problems();
  for (const std::string& problem : *problems) w.string("declared workload not granted: " + problem);
  for (const auto& [id, workload] : state.workloads) {
    const std::string groups = joined(sharing_groups(state, workload), ", ");
    if (!groups.empty())
      w.string(fmt::format("resctrl group {} may fill the ways of workload {}", groups, id_text(workload)));
  }
  for (const cpuset::Conflict& conflict : state.cpu_conflicts)
    w.string(fmt::format("{}; {}", conflict.text, conflict.remedy));
  w.end_array();
}

}  // namespace

void show_health(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const auto warnings = [&](json::Writer& w) { write_warnings(w, *state, call.service); };
  reply.send(routing::json_answer(200, json::document({{"status", is_ok(*state) ? "ok" : "degraded"},
                                                       {"writes_frozen", state->health.writes_frozen},
                                                       {"hardware_problem", problem_of(*state)},
                                                       {"warnings", warnings},
                                                       {"version", call.service.version},
                                                       {"revision", state->revision},
                                                       {"drift_repairs", state->health.drift_repairs},
                                                       {"workloads", state->workloads.size()}})));
}

}  // namespace nrd::v1
