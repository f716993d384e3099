

#include "api/rmd/views/handlers.h"
#include "api/routing/answer.h"
#include "api/v1/node.h"
#include "engine/model/node_state.h"
#include "engine/transaction/engine.h"

namespace nrd::rmd {

// Like RMD, omits false and 0, except for `mba`.
void show_mba(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const rdt::Capabilities& has = state->facts.rdt.capabilities;
  json::Writer w;
  w.begin_object();
  w.key("mba").boolean(has.mba);
  if (has.mba_info) {
    w.key("mba_enable").boolean(true);
    if (has.mba_info->step != 0) w.key("mba_step").number(has.mba_info->step);
    if (has.mba_info->least != 0) w.key("mba_min").number(has.mba_info->least);
    v1::write_unit(w, *has.mba_info);
  }
  w.end_object();
  reply.send(routing::json_answer(200, w.take()));
}

}  // namespace nrd::rmd
