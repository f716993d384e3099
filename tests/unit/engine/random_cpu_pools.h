// Nodes with random CPU pools and quotas, and what random requests for their CPUs are made of.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/transaction/transaction.h"
#include "tests/unit/engine/cpu_pool_fixture.h"
#include "tests/unit/engine/invariants.h"
#include "tests/unit/engine/node_shape.h"

namespace nrd::testing {

using cpuset::Level;
using cpuset::Target;

inline const LocalUser kAlice{.uid = 1001};
inline const LocalUser kMember{.uid = 1002, .groups = {50}};

// A few of each; the scope of a command comes with its process.
inline const std::vector<Target> kGroups{{.kind = Target::Kind::Unit, .name = "feed.service", .task = {}},
                                         {.kind = Target::Kind::Unit, .name = "book.service", .task = {}},
                                         {.kind = Target::Kind::Cgroup, .name = "/pod/1", .task = {}},
                                         {.kind = Target::Kind::Cgroup, .name = "/pod/2", .task = {}}};

inline NodeShape a_shape(Dice& dice) {
  NodeShape shape;
  shape.sockets = 1 + dice.below(6);
  shape.threads_per_core = 1 + dice.below(2);
  shape.cpus_per_socket = shape.threads_per_core * (2 + dice.below(7));
  shape.ways = 11 + dice.below(10);
  shape.classes = 8 + dice.below(24);
  return shape;
}

inline CpuPool a_pool(Dice& dice, unsigned number) {
  CpuPool pool{.name = "pool" + std::to_string(number)};
  if (number > 0 && dice.once_in(3)) pool.kind = CpuPool::Kind::Shared;
  pool.low_noise = dice.once_in(4);
  if (pool.kind == CpuPool::Kind::Shared) return pool;
  pool.threads = static_cast<CpuPool::Threads>(dice.below(3));
  pool.order = static_cast<CpuPool::Order>(dice.below(2));
  pool.within = static_cast<Level>(dice.below(7));
  pool.never_crosses = dice.once_in(4);
  if (dice.once_in(4)) pool.latency_us = dice.below(2) * 10;
  return pool;
}

// Each core is of a pool, of the operating system (the first one is), or of neither.
inline NodeConfig a_config(Dice& dice, const NodeShape& shape) {
  NodeConfig config;
  for (unsigned number = 0; number < 2 + dice.below(4); ++number) config.cpu_pools.push_back(a_pool(dice, number));
  const auto pools = static_cast<unsigned>(config.cpu_pools.size());
  const unsigned cores = shape.sockets * shape.cpus_per_socket / shape.threads_per_core;
  unsigned owner = pools;
  for (unsigned core = 0; core < cores; ++core) {
    if (core == 1) owner = 0;
    if (core > 1 && dice.once_in(4)) owner = dice.below(pools + 2);
    if (owner > pools) continue;
    CpuSet& cpus = owner == pools ? config.groups.os : config.cpu_pools[owner].cpus;
    const unsigned first = core * shape.threads_per_core;
    cpus.add(CpuId{first}, CpuId{first + shape.threads_per_core - 1});
  }
  std::erase_if(config.cpu_pools, [](const CpuPool& pool) { return pool.cpus.empty(); });
  if (dice.once_in(2)) {
    config.cpu_quotas.emplace().users[kAlice.uid] = {.pools = {"pool0", "pool1"}, .count = dice.below(8)};
    config.cpu_quotas->groups[kMember.groups.front()] = {.pools = {"pool0"}, .count = 1 + dice.below(4)};
  }
  return config;
}

// A node that says the same in another order.
inline NodeConfig reversed(NodeConfig config) {
  std::ranges::reverse(config.cpu_pools);
  return config;
}

inline void set_number(CpuRequest& request, uint32_t number) {
  if (request.limit_milli > 0) request.limit_milli = std::max(request.limit_milli, number);
  (request.request_milli > 0 ? request.request_milli : request.cores > 0 ? request.cores : request.count) = number;
}

// As a client writes it; of a PATCH: without a pool that stays.
inline std::string json_of(const CpuRequest& request) {
  std::string text = "{\"apart\":[";
  for (const std::string& id : request.apart) text += "\"" + id + "\"";
  text += R"(],"level":")" + std::string(request.level == Level::Core ? "core" : "node") + "\"";
  if (!request.pool.empty()) text += R"(,"pool":")" + request.pool + "\"";
  if (request.count > 0) text += R"(,"count":)" + std::to_string(request.count);
  if (request.cores > 0) text += R"(,"cores":)" + std::to_string(request.cores);
  if (!request.cpus.empty()) text += R"(,"cpus":")" + request.cpus.to_string() + "\"";
  if (request.request_milli > 0) text += R"(,"request_milli":)" + std::to_string(request.request_milli);
  if (request.limit_milli > 0) text += R"(,"limit_milli":)" + std::to_string(request.limit_milli);
  text += std::string(R"(,"near":[)") + (request.near.empty() ? "" : R"("node:0")") + "]";
  text += R"(,"strict":)" + std::string(request.strict ? "true" : "false");
  return text + "}";
}

}  // namespace nrd::testing
