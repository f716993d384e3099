// nrdctl top: what each workload has in the cache and moves to and from memory, as bars that move.
//
//   WORKLOAD  POOL       CLASS  CACHE  WAYS  OCCUPANCY                             MEMORY MB/s  LOCAL MB/s
//   1         guarantee  COS2   0      3     ##############......  2.1 of 3.0 MiB       1048.6       524.3
//   2 +1      shared     COS3   0      2     ?                                               ?           ?
//   3         none       -      -      -     has no class of its own
//
// A bar is what is occupied of what the workload's ways hold. ? is what the kernel does not tell, +1 that one more
// workload is in the class and counted with it.
#pragma once

#include <string>
#include <vector>

#include "api/json/value.h"
#include "cli/commands.h"

namespace nrd::cli {

// A workload as GET /v1/workloads has it, and what GET …/monitoring answered: null if it has no class.
struct Watched {
  json::Value workload;
  json::Value usage;
};

// Pure. `rows`: lines that there is room for, 0: as many as it takes.
std::string draw_top(const std::vector<Watched>& watched, size_t rows, bool in_colour);

enum class Frames { One, Live };
// Live: until q or Ctrl-C, on a terminal; otherwise one picture, as soon as there are rates.
int show_top(const Client& client, Output output, Frames frames);

}  // namespace nrd::cli
