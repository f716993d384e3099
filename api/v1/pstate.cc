#include <optional>
#include <string>

#include "api/routing/answer.h"
#include "api/routing/problem.h"
#include "api/v1/frequency_json.h"
#include "api/v1/handlers.h"
#include "base/find_in.h"
#include "base/json/object.h"
#include "base/number.h"
#include "engine/model/node_state.h"
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

void write_knobs(json::Writer& w, const pstate::FrequencySetting& knobs) {
  w.begin_object();
  write_window(w, knobs.min, knobs.max);
  json::write_members(w, {{"governor", json::given(knobs.governor)}, {"epp", json::given(knobs.epp)}});
  w.end_object();
}

// Null for a CPU without a threshold.
void write_threshold(json::Writer& w, const NodeState& state, CpuId id, const Workload* owner) {
  const bool has_threshold = owner != nullptr && owner->spec.frequency && owner->spec.frequency->threshold;
  if (!has_threshold) return void(w.null());
  const FrequencyRequest& request = *owner->spec.frequency;
  const bool is_monitored = request.monitoring == FrequencyRequest::Monitoring::On;
  const plan::GovernorState* control = is_monitored ? find_in(state.governors, id) : nullptr;
  const char* decision = !control ? "" : speed_of(state, id) == plan::Speed::Fast ? "maximum" : "minimum";
  json::write_object(w, {{"monitoring", request.monitoring},
                         {"ratio_threshold", *request.threshold},
                         {"last_ratio", control ? control->percent : std::nullopt},
                         {"decision", json::or_null(decision)},
                         {"transitions", control ? control->transitions : 0}});
}

void write_cpu_frequency(json::Writer& w, const NodeState& state, CpuId id, const pstate::Cpu& cpu) {
  const pstate::FrequencySetting* set = find_in(state.observed.pstate.cpus, id);
  const KHz* current = find_in(state.current, id);
  const Workload* owner = owner_of(state, id);
  const bool is_set = owner != nullptr && owner->grant.frequencies.contains(id);
  const auto write_limits = [&cpu](json::Writer& of) {
    of.begin_object();
    write_window(of, cpu.min, cpu.max);
    json::write(of.key("base_khz"), cpu.base);
    of.end_object();
  };
  json::write_object(w, {{"cpu", id},
                         {"driver", cpu.driver},
                         {"interface", name_of(cpu.way)},
                         {"limits", write_limits},
                         {"steps_khz", cpu.steps},
                         {"hwp", cpu.hwp},
                         {"set", json::or_null(set, write_knobs)},
                         {"current_khz", current ? std::optional(*current) : std::nullopt},
                         {"domain", cpu.domain},
                         {"governors", cpu.governors},
                         {"epps", cpu.epps},
                         {"monitoring", [&](json::Writer& of) { write_threshold(of, state, id, owner); }},
                         {"workload", json::or_null(is_set ? id_text(*owner) : "")}});
}

}  // namespace

void list_pstates(const routing::Call& call, http::Reply reply) {
  const auto state = call.engine.state();
  const pstate::Node& node = state->facts.pstate;
  const auto write_each = [&state](json::Writer& w, const auto& cpu) {
    write_cpu_frequency(w, *state, cpu.first, cpu.second);
  };
  reply.send(routing::json_answer(200, json::document({{"cpus", json::array(node.cpus, write_each)},
                                                       {"turbo", state->observed.pstate.turbo},
                                                       {"max_perf_pct", node.max_percent},
                                                       {"missing", node.missing}})));
}

void show_pstate(const routing::Call& call, http::Reply reply) {
  const auto number = parse_number<uint32_t>(call.id);
  const auto state = call.engine.state();
  const pstate::Cpu* cpu = number ? find_in(state->facts.pstate.cpus, CpuId{*number}) : nullptr;
  if (!cpu) {
    const char* text = "no such CPU, or its frequency cannot be set";
    return reply.send(
        problem_response({.status = 404, .code = "NotFound", .line = text, .detail = text}, call.error_style));
  }
  reply.send(routing::json_answer(200, [&](json::Writer& w) { write_cpu_frequency(w, *state, CpuId{*number}, *cpu); }));
}

}  // namespace nrd::v1
