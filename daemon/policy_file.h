// The file of policies, TOML or YAML by its name, in RMD's form:
//
//   [skylake.gold.cache]      one section for each microarchitecture, and [default.…] for those without one
//   max = 4
//   min = 4
//
// A policy has `cache` (max, min), `pstate` (as in a workload) and `mba` (percentage or mbps), each or some of them.
// The whole file is checked, not only the section of this node. RMD's cpu_map.toml gives names to families and models.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api/json/value.h"
#include "base/cpuinfo.h"
#include "base/result.h"
#include "daemon/microarchitecture.h"
#include "engine/model/policy.h"

namespace nrd::daemon {

struct PolicyFiles {
  std::string policies;  // empty: /etc/nrd/policy.toml if it is there
  std::string cpu_map;   // empty: /etc/nrd/cpu_map.toml if it is there
  friend bool operator==(const PolicyFiles&, const PolicyFiles&) = default;
};

// By microarchitecture; `name` stands in error messages.
Result<std::map<std::string, Policies>> parse_policies(const json::Value& tree, const std::string& name);
Result<CpuMap> parse_cpu_map(const json::Value& tree, const std::string& name);

// The policies for `part`. Null: there is no file, or it has no section for it. A file that is named must be there.
struct FoundPolicies {
  std::shared_ptr<const Policies> policies;
  std::string section;  // whose they are; empty: nobody's
};
Result<FoundPolicies> load_policies(const PolicyFiles& files, const Part& part);

// The part of this host.
Result<Part> read_part();

}  // namespace nrd::daemon
