// JSON of a workload's frequency: `pstate`, at top level or under `plugins`, and the grant.
//
//   {"min_ratio": 22, "max_ratio": 30}                 multiples of the bus clock (100 MHz)
//   {"min_mhz": 2200, "governor": "performance"}       one bound sets both
//   {"turbo": false, "shared_domain": "allow"}
//   {"ratio": 3.0, "monitoring": "on"}                 RMD's: maximum above that percentage of branch misses,
//                                                      else minimum
#pragma once

#include <optional>
#include <string>

#include "api/v1/json_validation.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

struct FrequencyFields {
  bool is_named = false;  // the body has a request, or null to remove it
  std::optional<FrequencyRequest> request;
};

// Accepts either place, or both if they are equal. Ignores an empty object.
Result<FrequencyFields> parse_frequency(const json::Value& body, Null null = Null::IsAbsent);

// The literal of `ratio`, which RMD echoes unchanged (3.0, not 3); empty if absent.
std::string ratio_literal(const json::Value& body);

// Writes "pstate" and the request.
void render_pstate(json::Writer& w, const FrequencyRequest& request, const std::string& ratio = {});
// Each writes its key, or nothing without a frequency request.
// `ratio`: the literal to write for the threshold; empty: formatted from the number.
void render_plugins(json::Writer& w, const Workload& workload, const std::string& ratio = {});
void render_frequency(json::Writer& w, const Workload& workload, const std::string& ratio = {});
void render_granted_frequencies(json::Writer& w, const Workload& workload);

// As a JSON number: 3, 0.25.
std::string text_of(BranchMissThreshold threshold);

// {"min_khz": ..., "max_khz": ..., "min_ratio": ..., "max_ratio": ...}, without the braces.
void render_window(json::Writer& w, KHz min, KHz max);

}  // namespace nrd::v1
