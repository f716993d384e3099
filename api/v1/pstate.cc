#include <optional>
#include <string>

#include "api/routing/answer.h"
#include "api/routing/problem.h"
#include "api/v1/frequency_json.h"
#include "api/v1/handlers.h"
#include "base/json/object.h"
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

void render_knobs(json::Writer& w, const pstate::FrequencySetting& knobs) {
  w.begin_object();
  render_window(w, knobs.min, knobs.max);
  json::write_members(w, {{"governor", json::given(knobs.governor)}, {"epp", json::given(knobs.epp)}});
  w.end_object();
}

// Null for a CPU without a threshold.
void render_threshold(json::Writer& w, const NodeState& state, CpuId id, const Workload* owner) {
  const bool has_threshold = owner != nullptr && owner->spec.frequency && owner->spec.frequency->threshold;
  if (!has_threshold) return void(w.null());
  const FrequencyRequest& request = *owner->spec.frequency;
  const auto control =
      request.monitoring == FrequencyRequest::Monitoring::On ? state.governors.find(id) : state.governors.end();
  const bool is_sampled = control != state.governors.end();
  const char* decision = !is_sampled ? "" : speed_of(state, id) == plan::Speed::Fast ? "maximum" : "minimum";
  json::write_object(w, {{"monitoring", request.monitoring},
                         {"ratio_threshold", *request.threshold},
                         {"last_ratio", is_sampled ? control->second.percent : std::nullopt},
                         {"decision", json::or_null(decision)},
                         {"transitions", is_sampled ? control->second.transitions : 0}});
}

void render_cpu_frequency(json::Writer& w, const NodeState& state, CpuId id, const pstate::Cpu& cpu) {
  const auto knobs = state.observed.pstate.cpus.find(id);
  const auto* set = knobs == state.observed.pstate.cpus.end() ? nullptr : &knobs->second;
  const auto current = state.current.find(id);
  const Workload* owner = owner_of(state, id);
  const bool is_set = owner != nullptr && owner->grant.frequencies.contains(id);
  const auto render_limits = [&cpu](json::Writer& of) {
    of.begin_object();
    render_window(of, cpu.min, cpu.max);
    json::write(of.key("base_khz"), cpu.base);
    of.end_object();
  };
  json::write_object(w,
                     {{"cpu", id},
                      {"driver", cpu.driver},
                      {"interface", name_of(cpu.way)},
                      {"limits", render_limits},
                      {"steps_khz", cpu.steps},
                      {"hwp", cpu.hwp},
                      {"set", json::or_null(set, render_knobs)},
                      {"current_khz", current == state.current.end() ? std::nullopt : std::optional(current->second)},
                      {"domain", cpu.domain},
                      {"governors", cpu.governors},
                      {"epps", cpu.epps},
                      {"monitoring", [&](json::Writer& of) { render_threshold(of, state, id, owner); }},
                      {"workload", json::or_null(is_set ? id_text(*owner) : "")}});
}

}  // namespace

void list_pstates(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const pstate::Node& node = state->facts.pstate;
  const auto render_each = [&state](json::Writer& w, const auto& cpu) {
    render_cpu_frequency(w, *state, cpu.first, cpu.second);
  };
  reply.send(routing::json_answer(
      200, json::text_of(
               {{"cpus", json::array(node.cpus, render_each)}, {"turbo", node.turbo}, {"missing", node.missing}})));
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
