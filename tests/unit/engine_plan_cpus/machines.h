// Machines for tests of placement: zones of all levels, and the pool, request and situation to place on them.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/cpus/placement.h"

namespace nrd::testing {

// All counts are per zone above.
struct Machine {
  uint32_t packages = 2;
  uint32_t nodes = 1;
  uint32_t l3s = 2;
  uint32_t cores = 4;
  uint32_t threads = 2;

  uint32_t all_cores() const { return packages * nodes * l3s * cores; }

  // As Linux numbers them: the first threads of all cores, then the second ones.
  std::vector<cpuset::Zone> zones() const {
    std::vector<cpuset::Zone> zones;
    const auto add = [this, &zones](cpuset::Level level, uint32_t number) {
      const uint32_t size = all_cores() / number;
      for (uint32_t id = 0; id < number; ++id) {
        CpuSet cpus;
        for (uint32_t core = id * size; core < (id + 1) * size; ++core) {
          for (uint32_t thread = 0; thread < threads; ++thread) cpus.add(CpuId{core + thread * all_cores()});
        }
        zones.push_back({level, id, cpus});
      }
    };
    add(cpuset::Level::Package, packages);
    add(cpuset::Level::Node, packages * nodes);
    add(cpuset::Level::L3, packages * nodes * l3s);
    add(cpuset::Level::L2, all_cores());
    add(cpuset::Level::Core, all_cores());
    return zones;
  }
  CpuSet cpus() const { return CpuSet::first(all_cores() * threads); }
};

inline CpuSet cpus_of(const std::string& list) { return list.empty() ? CpuSet{} : *CpuSet::parse(list); }

// "4-5, 36-37 idle" or "NotEnough /cpu/count: needs ... (at most 4)".
inline std::string text_of(const Result<CpuGrant>& grant) {
  if (grant) {
    const std::string idle = grant->idle_siblings.to_string();
    return grant->exclusive.to_string() + (idle.empty() ? "" : " idle " + idle);
  }
  const Error& error = grant.error();
  const char* code = error.code == ErrorCode::BadRequest  ? "BadRequest "
                     : error.code == ErrorCode::NotEnough ? "NotEnough "
                     : error.code == ErrorCode::CpuTaken  ? "CpuTaken "
                     : error.code == ErrorCode::Conflict  ? "Conflict "
                                                          : "? ";
  return code + error.field + ": " + error.message + (error.allowed.empty() ? "" : " (" + error.allowed + ")");
}

}  // namespace nrd::testing
