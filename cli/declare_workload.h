// The commands nrdctl workload.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/arguments.h"

namespace nrd::cli {

void declare_workload(CLI::App& app, Arguments& a);

}  // namespace nrd::cli
