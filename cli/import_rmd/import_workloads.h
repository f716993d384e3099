// Recreates RMD's workloads in nrd: each workload of a dump (RMD's GET /v1/workloads) becomes one POST.
//
//   {"id":"3","core_ids":["4-5"],"status":"Successful","cos_name":"COS2","rdt":{"cache":{"max":2,"min":2},"mba":{}},
//    "uuid":"web","origin":"REST"}
//   becomes
//   {"id":"3","core_ids":["4-5"],"rdt":{"cache":{"max":2,"min":2}},"uuid":"web","origin":"REST"}
//
// nrd chooses the class and the ways. If a policy is set, only the policy is sent, because it overrode all else in
// RMD.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "cli/answer.h"

namespace nrd::cli {

enum class Id { Keep, Leave };

struct DumpedWorkload {
  std::string id;      // RMD's
  std::string uuid;    // empty: none
  std::string origin;  // "REST" or "OPENSTACK"
  std::string cores;   // for messages
  json::Value body;
  // The POST body; with RMD's id or without one.
  std::string request(Id id) const;
};

// In the order in which RMD created them. BadRequest names the malformed element.
Result<std::vector<DumpedWorkload>> workloads_of_dump(const std::string& text);

// Prints one line per workload. kRefused if nrd refused one.
OrStop<> import_workloads(const Client& client, const std::string& path);

}  // namespace nrd::cli
