// CPUs of a pool in requests and responses: {"pool": "fast", "count": 3, "near": ["eth1"]}.
#pragma once

#include <string>

#include "base/json/partial.h"
#include "base/json/value.h"
#include "base/json/writer.h"
#include "base/result.h"
#include "engine/model/fwd.h"
#include "engine/model/workload.h"

namespace nrd::v1 {

// Accepts an edited object of a response as well, of which it takes pool and cpus. An empty object counts as absent.
Result<Change<json::Partial<CpuRequest>>> parse_cpu(const json::Value& object, const std::string& at);

// True for the `cpu` of a response about a workload whose core_ids are in a pool: not a request.
bool is_granted_cpu(const json::Value& cpu);

// True for the `cpu` of a response as it was, whose request is in `cpu_request`.
bool is_unedited_grant(const json::Value& cpu);

// Requests for several pools: [{"pool": "fast", "count": 2}, {"pool": "common", "request_milli": 500}].
Result<void> parse_cpu_list(const json::Value& list, const std::string& at, SpecPatch& patch);

// The grant of `workload`, which has one, and where its tasks run; a list of grants if it has CPUs of several pools.
void write_cpu(json::Writer& w, const NodeState& state, const Workload& workload);
void write_cpu_request(json::Writer& w, const Workload& workload);

}  // namespace nrd::v1
