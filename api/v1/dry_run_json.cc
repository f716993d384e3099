#include "api/v1/dry_run_json.h"

#include "api/v1/workload_json.h"
#include "base/json/writer.h"
#include "engine/plan/dry_run.h"

namespace nrd::v1 {

std::string render_dry_run(const NodeState& state, const plan::DryRun& dry_run) {
  json::Writer w;
  w.begin_object();
  w.key("workload");
  render(w, state, dry_run.workload, {.is_dry_run = true});
  w.key("changes").begin_array();
  for (const KnobChange& change : dry_run.changes) {
    w.begin_object();
    w.key("knob").string(change.knob);
    w.key("from").string(change.from);
    w.key("to").string(change.to);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take();
}

}  // namespace nrd::v1
