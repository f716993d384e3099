// The engine's part of the configuration, resolved on this node: policies of its CPU, users by number.
#pragma once

#include "base/result.h"
#include "daemon/policy_file.h"
#include "engine/transaction/engine_config.h"

namespace nrd::daemon {

struct Config;
struct LoadedConfig;

struct ResolvedNode {
  EngineConfig engine;
  FoundPolicies policies;
};

// Errors name the key or the line of the policy file.
Result<ResolvedNode> resolve_node(const Config& config);
// Of a start: with the accounts of the launch backend, too. Errors have file and line.
Result<ResolvedNode> resolve_node(const LoadedConfig& loaded);

void log_policies(const FoundPolicies& found);
void log_warnings(const NodeState& state);

}  // namespace nrd::daemon
