// From a request for CPUs to a grant. Pure: the same situation and request give the same grant.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "engine/model/cpu_pools.h"
#include "engine/model/workload.h"
#include "engine/plan/cpus/zones.h"

namespace nrd::plan {

// CPUs of another workload, to be kept out of the zones of the requested CPUs.
struct Apart {
  std::string workload{};
  CpuSet cpus{};
  std::optional<cpuset::Level> level{};  // nullopt: that of the request
};

// For messages.
inline std::string pool_text(const CpuPool& pool) { return "pool \"" + pool.name + "\""; }

// The member of the request that says how many, or which.
inline const char* number_field(const CpuRequest& request) {
  return request.count > 0 ? "/cpu/count" : request.cores > 0 ? "/cpu/cores" : "/cpu/cpus";
}

struct Situation {
  const ZoneTree& tree;
  const CpuPool& pool;
  // CPUs of the pool that are online and that no other workload has, neither as its own nor as an idle sibling.
  // Includes those that this workload has now.
  CpuSet free{};
  CpuSet current{};            // CPUs that this workload has now: kept where the request allows it
  std::vector<CpuSet> near{};  // CPUs near each device of CpuRequest::near, in the same order
  std::vector<Apart> apart{};  // of CpuRequest::apart
  // For messages: "workload 3 (feed)", which has some of these CPUs; without it "another workload".
  std::function<std::string(const CpuSet&)> owners{};
};

// Of exactly one of count, cores and cpus, in an exclusive pool: check_number() in cpu_grant.cc.
// Errors: BadRequest /cpu/... for what no situation could grant, CpuTaken /cpu/cpus, NotEnough /cpu/count or /cpu/cores
// with what would fit. What an error says would fit is granted when it is requested instead.
Result<CpuGrant> place(const Situation& situation, const CpuRequest& request);

}  // namespace nrd::plan
