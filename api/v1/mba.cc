#include "api/v1/mba.h"

#include "api/routing/answer.h"
#include "base/json/writer.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {

void render_unit(json::Writer& w, const rdt::MbaInfo& mba) {
  const bool is_percent = mba.unit == rdt::MbaUnit::Percent;
  w.key("mba_request").string(is_percent ? "percentage" : "mbps");
  w.key("mba_unit").string(is_percent ? "percent" : mba.unit == rdt::MbaUnit::Mbps ? "MB/s" : "GB/s / 8");
}

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
    render_unit(w, *has.mba_info);
  }
  w.end_object();
  reply.send(routing::json_answer(200, w.take()));
}

}  // namespace nrd::v1
