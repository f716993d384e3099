// The commands nrdctl workload, and the options that describe one.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/arguments.h"

namespace nrd::cli {

void declare_workload(CLI::App& app, Arguments& a);
// Resources of a workload, the CPUs it uses, and its names.
void declare_resources(CLI::App& app, NewWorkload& wanted);
// After parsing: --ways N is a guarantee of max = min = N.
void expand_ways(NewWorkload& wanted);
// A refusal of one of these bounds is about --ways.
Outcome<> naming_ways(Outcome<> done, const NewWorkload& wanted);

}  // namespace nrd::cli
