#include <optional>
#include <string>

#include "api/routing/answer.h"
#include "api/routing/problem.h"
#include "api/v1/frequency_json.h"
#include "api/v1/handlers.h"
#include "base/json/fields.h"
#include "base/json/writer.h"
#include "base/number.h"
#include "engine/model/workload_fields.h"
#include "engine/transaction/engine.h"

namespace nrd::v1 {
namespace {

const char* name_of(pstate::Interface interface) {
  switch (interface) {
    case pstate::Interface::Cpufreq: return "cpufreq";
    case pstate::Interface::HwpRequest: return "msr, IA32_HWP_REQUEST";
    case pstate::Interface::PerfCtl: return "msr, IA32_PERF_CTL";
    case pstate::Interface::Amd17h:
    case pstate::Interface::Amd1Ah: return "msr, MSRC001_0062";
  }
  return "";
}

void render_set(json::Writer& w, const NodeState& state, CpuId id) {
  w.key("set");
  const auto knobs = state.observed.pstate.cpus.find(id);
  if (knobs == state.observed.pstate.cpus.end()) {
    w.null();
  } else {
    w.begin_object();
    render_window(w, knobs->second.min, knobs->second.max);
    if (!knobs->second.governor.empty()) w.key("governor").string(knobs->second.governor);
    if (!knobs->second.epp.empty()) w.key("epp").string(knobs->second.epp);
    w.end_object();
  }
  const auto current = state.current.find(id);
  w.key("current_khz");
  current == state.current.end() ? w.null() : w.number(current->second.value);
}

// Null for a CPU without a threshold.
void render_monitoring(json::Writer& w, const NodeState& state, CpuId id, const Workload* owner) {
  w.key("monitoring");
  const bool has_threshold = owner != nullptr && owner->spec.frequency && owner->spec.frequency->threshold;
  if (!has_threshold) {
    w.null();
    return;
  }
  const FrequencyRequest& request = *owner->spec.frequency;
  const auto control =
      request.monitoring == FrequencyRequest::Monitoring::On ? state.governors.find(id) : state.governors.end();
  const bool is_sampled = control != state.governors.end();
  w.begin_object();
  w.key("monitoring").string(json::name_of(request.monitoring));
  json::write(w.key("ratio_threshold"), *request.threshold);
  w.key("last_ratio");
  json::write(w, is_sampled ? control->second.percent : std::nullopt);
  w.key("decision");
  is_sampled ? w.string(speed_of(state, id) == plan::Speed::Fast ? "maximum" : "minimum") : w.null();
  w.key("transitions").number(is_sampled ? control->second.transitions : 0);
  w.end_object();
}

void render_cpu_frequency(json::Writer& w, const NodeState& state, CpuId id, const pstate::Cpu& cpu) {
  w.begin_object();
  w.key("cpu").number(id.value);
  w.key("driver").string(cpu.driver);
  w.key("interface").string(name_of(cpu.way));
  w.key("limits").begin_object();
  render_window(w, cpu.min, cpu.max);
  w.key("base_khz");
  cpu.base ? w.number(cpu.base->value) : w.null();
  w.end_object();
  w.key("steps_khz").begin_array();
  for (const KHz step : cpu.steps) w.number(step.value);
  w.end_array();
  w.key("hwp").boolean_or_null(cpu.hwp);
  render_set(w, state, id);
  w.key("domain").string(cpu.domain.to_string());
  json::write(w.key("governors"), cpu.governors);
  json::write(w.key("epps"), cpu.epps);
  const Workload* owner = owner_of(state, id);
  render_monitoring(w, state, id, owner);
  w.key("workload");
  const bool is_set = owner != nullptr && owner->grant.frequencies.contains(id);
  is_set ? w.string(id_text(*owner)) : w.null();
  w.end_object();
}

}  // namespace

void list_pstates(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  json::Writer w;
  w.begin_object();
  w.key("cpus").begin_array();
  for (const auto& [id, cpu] : state->facts.pstate.cpus) render_cpu_frequency(w, *state, id, cpu);
  w.end_array();
  w.key("turbo").boolean_or_null(state->facts.pstate.turbo);
  json::write(w.key("missing"), state->facts.pstate.missing);
  w.end_object();
  reply.send(routing::json_answer(200, w.take()));
}

void show_pstate(const routing::Call& call, http::Reply reply) {
  const auto number = parse_number<uint32_t>(call.id);
  const auto state = call.engine.state();
  const auto found = state->facts.pstate.cpus.find(CpuId{number.value_or(0)});
  if (!number || found == state->facts.pstate.cpus.end()) {
    const char* text = "no such CPU, or its frequency cannot be set";
    return reply.send(render({.status = 404, .code = "NotFound", .line = text, .detail = text}, call.error_style));
  }
  json::Writer w;
  render_cpu_frequency(w, *state, found->first, found->second);
  reply.send(routing::json_answer(200, w.take()));
}

}  // namespace nrd::v1
