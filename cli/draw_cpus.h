// Draws which workload has which CPUs. Pure: from the JSON of GET /v1/cpus, /v1/cpus/pools and /v1/workloads to text.
//
//   package 0, node 0, L3 0
//        0  oo oo A- A- .. ..
//   package 1, node 1, L3 1
//       12  BB .. .. .. SS SS
//
//   A  workload 1: pool fast, CPUs 4,6, nearest to eth1
//   …
//   pool fast: exclusive, CPUs 4-19, free 8-11
//   pool common: shared, CPUs 20-23
//       workload 3 (feed)
//   ! other software that also decides about these CPUs
//       what to do about it
//
// A line begins with the number of its first CPU; the threads of a core stand together.
#pragma once

#include <string>

#include "base/json/value.h"
#include "cli/draw.h"

namespace nrd::cli {

// The responses of these resources.
struct CpuDrawing {
  const json::Value& cpus;
  const json::Value& pools;
  const json::Value& workloads;
};

// Of GET /v1/cpus/pools/{id}: what it has left, and the largest request that fits now.
std::string draw_pool(const json::Value& pool);

// Of GET /v1/cpus/pools/{id}/check.
std::string draw_check(const json::Value& check);

std::string draw_cpus(const CpuDrawing& of, Colour colour);

}  // namespace nrd::cli
