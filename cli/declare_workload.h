// The commands nrdctl workload, and the options that describe one.
#pragma once

#include <CLI/CLI.hpp>

namespace nrd::cli {

class Client;
struct Arguments;
struct NewWorkload;

void declare_workload(CLI::App& app, Arguments& a);
// Resources of a workload, the CPUs it uses, and its names.
void declare_resources(CLI::App& app, NewWorkload& wanted);
// After parsing: --ways N is a guarantee of max = min = N.
void expand_ways(NewWorkload& wanted);
// Refusals are about what the user gave: --ways, not these bounds, or members of a document.
Client naming_options(const Client& client, const NewWorkload& wanted);

}  // namespace nrd::cli
