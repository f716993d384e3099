// The commands nrdctl export.
#pragma once

#include <CLI/CLI.hpp>

namespace nrd::cli {

struct Arguments;

// Of `run` and of exports: the environment of a program.
void declare_environment(CLI::App& app, Arguments& a);
void declare_export(CLI::App& app, Arguments& a);

}  // namespace nrd::cli
