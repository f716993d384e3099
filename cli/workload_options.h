// The options of nrdctl that describe a workload.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/new_workload.h"

namespace nrd::cli {

// Resources of a workload, the CPUs it uses, and its names.
void declare_resources(CLI::App& app, NewWorkload& wanted);
// After parsing: --ways N is a guarantee of max = min = N.
void expand_ways(NewWorkload& wanted);

}  // namespace nrd::cli
