// What RMD had granted, asked of nrd: each workload of a dump (what RMD's GET /v1/workloads answers) is a POST.
//
//   {"id":"3","core_ids":["4-5"],"status":"Successful","cos_name":"COS2","rdt":{"cache":{"max":2,"min":2},"mba":{}},
//    "uuid":"web","origin":"REST"}
//   becomes
//   {"id":"3","core_ids":["4-5"],"rdt":{"cache":{"max":2,"min":2}},"uuid":"web","origin":"REST"}
//
// The class and the ways are nrd's to choose. With a policy nothing else is asked for, as it overrode all in RMD.
#pragma once

#include <string>
#include <vector>

#include "api/json/value.h"
#include "base/result.h"
#include "cli/client.h"

namespace nrd::cli {

enum class Id { Keep, Leave };

struct DumpedWorkload {
  std::string id;      // RMD's
  std::string uuid;    // empty: none
  std::string origin;  // "REST" or "OPENSTACK"
  std::string cores;   // for people
  json::Value body;
  // What nrd is asked for; with RMD's id or one of nrd's own.
  std::string request(Id id) const;
};

// In the order in which RMD created them. BadRequest names what is no workload.
Result<std::vector<DumpedWorkload>> workloads_of_dump(const std::string& text);

// One line for each. kRefused if one of them was refused.
int import_workloads(const Client& client, const std::string& path);

}  // namespace nrd::cli
