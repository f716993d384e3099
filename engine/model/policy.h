// A policy: what a name stands for, so that clients need not know ways and frequencies of each kind of node.
//
//   gold = {cache: {max: 4, min: 4}}     a workload with "policy": "gold" gets four ways of its own
//
// Policies come from a file (daemon/policy_file.h), and those of this node's microarchitecture are published with the
// state. What a workload was granted does not change with the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/model/workload.h"

namespace nrd {

// At least one of them.
struct Policy {
  std::optional<CacheRequest> cache;
  std::optional<MbaRequest> mba;
  std::optional<FrequencyRequest> frequency;
  friend bool operator==(const Policy&, const Policy&) = default;
};

using Policies = std::map<std::string, Policy>;

}  // namespace nrd
