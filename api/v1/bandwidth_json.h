// RunState bandwidth of a workload on the wire, as RMD's clients write it: {"rdt": {"mba": {"percentage": 50}}}, or
// mbps.
#pragma once

#include <map>
#include <optional>

#include "api/json/value.h"
#include "api/json/writer.h"
#include "api/v1/json_validation.h"
#include "base/result.h"
#include "engine/model/node_state.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

struct BandwidthFields {
  bool is_named = false;  // also to say that there shall be none
  std::optional<MbaRequest> request;
};
Result<BandwidthFields> parse_bandwidth(const json::Value& body, Null null);
// A refusal of bandwidth in both units, as RMD has it: it asks for the one that the node limits in.
Error naming_the_unit(const NodeState& state, Error error);

// {"percentage": 50}, {} if nothing is asked for.
void render(json::Writer& w, const std::optional<MbaRequest>& request);
// {"0": {"percentage": 50}}: by cache, in units that clients know.
void render(json::Writer& w, const std::map<CacheId, rdt::Bandwidth>& granted);

}  // namespace nrd::v1
