// Changes the configuration of the node's resources while workloads are in place: check, claim, converge. Nothing but
// baselines is stored, so that a start after a crash takes what the files say. Engine thread.
#pragma once

#include "base/result.h"
#include "engine/model/node_config.h"

namespace nrd {

class Claims;
class Commits;
class ForeignGroupWatch;
class Hardware;
class HardwareSync;
struct NodeFacts;
struct NodeState;

// `config` with the CPUs of its pools on this node. BadRequest: they do not fit it.
Result<NodeConfig> with_resolved_pools(NodeConfig config, const NodeFacts& facts);

class Reconfigure {
 public:
  Reconfigure(Hardware& hardware, NodeState& state, HardwareSync& sync, Commits& commits, Claims& claims,
              ForeignGroupWatch& groups)
      : hardware_(hardware), state_(state), sync_(sync), commits_(commits), claims_(claims), groups_(groups) {}

  // BadRequest: it does not fit the node; Conflict: workloads have ways or CPUs that their pool would lose. Changes
  // nothing.
  Result<void> check(const NodeConfig& config) {
    return resolved(config).map([](const NodeConfig&) {});
  }
  // Takes it whole, or leaves the present one in force.
  Result<void> apply(const NodeConfig& config);

 private:
  Result<NodeConfig> resolved(const NodeConfig& config);
  Result<void> check_granted(const CpuPools& pools);
  Result<void> converge();

  Hardware& hardware_;
  NodeState& state_;
  HardwareSync& sync_;
  Commits& commits_;
  Claims& claims_;
  ForeignGroupWatch& groups_;
};

}  // namespace nrd
