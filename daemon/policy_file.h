// Reads the policy file, TOML or YAML by its suffix, in RMD's format:
//
//   [skylake.gold.cache]      one section for each microarchitecture, and [default.…] for those without one
//   max = 4
//   min = 4
//
// A policy has at least one of `cache` (max, min), `pstate` (as in a workload) and `mba` (percentage or mbps). The
// whole file is checked, not only this node's section. RMD's cpu_map.toml names CPU families and models.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/cpuinfo.h"
#include "base/json/value.h"
#include "base/result.h"
#include "daemon/microarchitecture.h"
#include "engine/model/policies.h"

namespace nrd::daemon {

struct PolicyFiles;

// By microarchitecture; `name` is used in error messages.
Result<std::map<std::string, Policies>> parse_policies(const json::Value& tree, const std::string& name);
Result<CpuMap> parse_cpu_map(const json::Value& tree, const std::string& name);

// The policies for `part`. Null: no file, or no section for it. A configured file must exist.
struct FoundPolicies {
  std::shared_ptr<const Policies> policies;
  std::string section;  // the matching section; empty: none
};
Result<FoundPolicies> load_policies(const PolicyFiles& files, const Part& part);

// The CPU of this host.
Result<Part> read_part();

}  // namespace nrd::daemon
