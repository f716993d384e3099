

#include "api/rmd/texts.h"
#include "api/routing/answer.h"
#include "api/routing/problem.h"
#include "api/v1/frequency_json.h"
#include "api/v1/handlers.h"
#include "base/json/members.h"
#include "base/json/object.h"
#include "engine/model/node_config.h"
#include "engine/model/node_state.h"
#include "engine/model/policies.h"
#include "engine/model/workload_fields.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

void write_policy(json::Writer& w, const Policy& policy) {
  w.begin_object();
  if (policy.cache) json::write_object(w.key("cache"), *policy.cache);
  if (policy.mba) json::write_object(w.key("mba"), *policy.mba);
  if (policy.frequency) to_json(w.key("pstate"), *policy.frequency);
  w.end_object();
}

}  // namespace

void list_policies(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  if (!state->config->policies) {
    return reply.send(problem_response({.status = 404,
                                        .code = "NotFound",
                                        .line = std::string(rmd::kNoPolicies),
                                        .detail = "there is no file of policies, or it has none for this kind of CPU"},
                                       call.error_style));
  }
  reply.send(routing::json_answer(200, json::by_key(*state->config->policies, write_policy)));
}

}  // namespace nrd::v1
