// The types of the model, for headers that only name them.
#pragma once

namespace nrd {

class Hardware;
class Workloads;
struct Baselines;
struct CacheRequest;
struct CpuGrant;
struct CpuPool;
struct CpuRequest;
struct Grant;
struct LocalUser;
struct MbaRequest;
struct NodeConfig;
struct NodeFacts;
struct NodeState;
struct NoiseClaim;
struct Observed;
struct Policy;
struct PoolPartition;
struct Setting;
struct Spec;
struct SpecPatch;
struct Workload;

namespace plan {
class ZoneTree;
}

}  // namespace nrd
