// JSON of a workload's frequency: `pstate`, at top level or under `plugins`, and the grant.
//
//   {"min_ratio": 22, "max_ratio": 30}                 multiples of the bus clock (100 MHz)
//   {"min_mhz": 2200, "governor": "performance"}       one bound sets both
//   {"turbo": false, "shared_domain": "allow"}
//   {"ratio": 3.0, "monitoring": "on"}                 RMD's: maximum above that percentage of branch misses,
//                                                      else minimum
//
// engine/model/workload_fields.h describes the members.
#pragma once

#include <string>

#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// nullopt if the object has no value; an inner nullopt if its values request nothing. `at`: its JSON pointer.
Result<Change<FrequencyRequest>> parse_pstate(const json::Value& object, const std::string& at);

// `ratio`: the literal to write for the threshold; empty: formatted from the number.
void to_json(json::Writer& w, const FrequencyRequest& request, const std::string& ratio = {});
// By CPU.
void write_granted_frequencies(json::Writer& w, const NodeState& state, const Workload& workload);

// {"min_khz": ..., "max_khz": ..., "min_ratio": ..., "max_ratio": ...}, without the braces.
void write_window(json::Writer& w, KHz min, KHz max);

}  // namespace nrd::v1
