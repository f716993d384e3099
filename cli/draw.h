// Draws which workload owns which cache ways. Pure: from the JSON of GET /v1/node to text.
//
//   cache 0   socket 0   CPUs 0-7
//      way  0 1 2 3 4 5 6 7 8 9 10
//           . A A O O O O O O O O
//     pool  o g g g g g b b b s s
//
//   O  OS (COS0)   .  idle
//   A  workload 1  guarantee  COS2  CPUs 4-7
#pragma once

#include <string>
#include <string_view>

#include "base/json/value.h"

namespace nrd::cli {

enum class Colour { No, Yes };

// Letters get one of six terminal colours, so that neighbours differ; those in `grey` are grey, those in `plain` stay.
std::string coloured(char glyph, Colour colour, std::string_view grey, std::string_view plain);

// `node` is the response of GET /v1/node, `workloads` that of GET /v1/workloads. Control characters in uuids and
// group names are removed.
std::string draw_ways(const json::Value& node, const json::Value& workloads, Colour colour);

// "CPUs 4-7", "tasks 4711,4712", "CPUs 4-7, tasks 4711": the CPUs and tasks of a workload.
std::string whom(const json::Value& workload);

// "pod=feed,team=trading": the labels of a workload; "" if it has none.
std::string labels_of(const json::Value& workload);

// "12-30", "22": the granted frequency window of a workload, as ratios; "-" if none.
std::string ratios_of(const json::Value& workload);

}  // namespace nrd::cli
