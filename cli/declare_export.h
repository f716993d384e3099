// The commands nrdctl export.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/arguments.h"

namespace nrd::cli {

// Of `export` and `run`: the environment of a program that uses Onload.
void declare_launch_options(CLI::App& app, Arguments& a);
void declare_export(CLI::App& app, Arguments& a);

}  // namespace nrd::cli
