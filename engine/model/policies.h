// A policy: a name for a request, so that clients need not know the ways and frequencies of each kind of node.
//
//   gold = {cache: {max: 4, min: 4}}     a workload with "policy": "gold" gets four exclusive ways
//
// Policies come from a file (daemon/policy_file.h); those of this node's microarchitecture are published with the
// state. Changing the file does not change existing grants.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/model/workload.h"

namespace nrd {

// At least one of the members is set.
struct Policy {
  std::optional<CacheRequest> cache;
  std::optional<MbaRequest> mba;
  std::optional<FrequencyRequest> frequency;
  friend bool operator==(const Policy&, const Policy&) = default;
};

// By name. A type, so that others can declare it.
struct Policies : std::map<std::string, Policy> {
  using map::map;
};

}  // namespace nrd
