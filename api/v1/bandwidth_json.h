// JSON of a workload's memory bandwidth, in RMD's format: {"rdt": {"mba": {"percentage": 50}}}, or mbps.
#pragma once

#include <map>
#include <optional>

#include "api/v1/json_validation.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

struct BandwidthFields {
  bool is_named = false;  // also if null removes it
  std::optional<MbaRequest> request;
};
Result<BandwidthFields> parse_bandwidth(const json::Value& body, Null null);
// For a request with both units, sets the unit that the node supports, as RMD's message names it.
Error naming_the_unit(const NodeState& state, Error error);

// {"percentage": 50}; {} if nothing is requested.
void render(json::Writer& w, const std::optional<MbaRequest>& request);
// {"0": {"percentage": 50}}: by cache, in the units of requests.
void render(json::Writer& w, const std::map<CacheId, rdt::Bandwidth>& granted);

}  // namespace nrd::v1
