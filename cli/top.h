// nrdctl top: live cache occupancy and memory bandwidth per workload.
//
//   WORKLOAD  POOL       CLASS  CACHE  WAYS  OCCUPANCY                             MEMORY MB/s  LOCAL MB/s
//   1         guarantee  COS2   0      3     ##############......  2.1 of 3.0 MiB       1048.6       524.3
//   2 +1      shared     COS3   0      2     ?                                               ?           ?
//   3         none       -      -      -     has no class of its own
//
// A bar shows occupancy relative to the size of the workload's ways. "?" means that the kernel reports no value, "+1"
// that one more workload shares the class and is counted with it.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "cli/commands.h"

namespace nrd::cli {

// A workload from GET /v1/workloads, and its monitoring response: null if it has no class.
struct Watched {
  json::Value workload;
  json::Value usage;
};

// Pure. `rows`: maximum number of lines; 0: unlimited.
std::string draw_top(const std::vector<Watched>& watched, size_t rows, bool in_colour);

enum class Frames { One, Live };
// Live: until q or Ctrl-C, on a terminal; otherwise one snapshot as soon as rates are known.
OrStop<> show_top(const Client& client, Output output, Frames frames);

}  // namespace nrd::cli
