#include "api/v1/frequency_json.h"

#include <string_view>
#include <utility>

#include "base/json/members.h"
#include "base/json/object.h"
#include "engine/model/node_state.h"
#include "engine/model/workload_fields.h"

namespace nrd::v1 {

Result<Change<FrequencyRequest>> parse_pstate(const json::Value& object, const std::string& at) {
  auto members = TRY(json::parse_members<FrequencyRequest>(object, at));
  if ((has(members, "min_ratio") || has(members, "max_ratio")) &&
      (has(members, "min_mhz") || has(members, "max_mhz"))) {
    return fail_at(ErrorCode::BadRequest, at, "has bounds in two units",
                   "min_ratio and max_ratio, or min_mhz and max_mhz");
  }
  if (has(members, "monitoring") && !has(members, "ratio")) {
    return fail_at(ErrorCode::BadRequest, json::pointer(at, "monitoring"),
                   "requires ratio, the threshold to compare with", "\"ratio\" in the same object");
  }
  if (members.given == 0) return Change<FrequencyRequest>();
  FrequencyRequest& request = members.values;
  const FrequencyRequest nothing{.unit = request.unit, .shared_domain = request.shared_domain};
  return Change<FrequencyRequest>(request == nothing ? std::nullopt : std::optional(std::move(request)));
}

void to_json(json::Writer& w, const FrequencyRequest& request, const std::string& ratio) {
  w.begin_object();
  json::for_each_field<FrequencyRequest>([&](const auto& field, uint32_t) {
    const std::string_view name = field.name;
    const bool is_adaptive = request.threshold && (name == "ratio" || name == "monitoring");
    if (!is_adaptive && !field.is_written(request)) return;
    w.key(name);
    name == "ratio" && !ratio.empty() ? void(w.raw(ratio)) : json::write(w, request.*field.member);
  });
  w.end_object();
}

void write_window(json::Writer& w, KHz min, KHz max) {
  json::write_members(w,
                      {{"min_khz", min}, {"max_khz", max}, {"min_ratio", ratio_of(min)}, {"max_ratio", ratio_of(max)}});
}

void write_granted_frequencies(json::Writer& w, const NodeState& state, const Workload& workload) {
  w.begin_object();
  for (const auto& [cpu, granted] : workload.grant.frequencies) {
    const pstate::FrequencySetting window = granted_window(state, workload, cpu);
    w.key(std::to_string(cpu.value)).begin_object();
    write_window(w, window.min, window.max);
    w.end_object();
  }
  w.end_object();
}

}  // namespace nrd::v1
