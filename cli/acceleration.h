// Onload as nrdctl sees it: the one place of nrdctl that names it, besides the folder cli/onload, which implements
// this, and the members of a workload. For an nrdctl built without Onload, cli/onload/absent.cc does.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/completion.h"
#include "cli/launch.h"
#include "cli/support_bundle.h"

namespace nrd::cli {

struct Arguments;
struct AccelerationArguments;

std::shared_ptr<AccelerationArguments> acceleration_arguments();

// nrdctl onload
void declare_acceleration(CLI::App& app, Arguments& a);
// nrdctl export systemd, docker and cdi
void declare_acceleration_exports(CLI::App& exported, Arguments& a);

// Options of nrdctl run. The first returns that which turns acceleration on; null: there is none.
CLI::Option* declare_acceleration_of_run(CLI::App& run, Arguments& a);
void declare_acceleration_details(CLI::App& run, Arguments& a, CLI::Option* acceleration);
// What the parsed options of nrdctl run ask for; empty: nothing.
Accelerate acceleration_of(const CLI::App& run, const Arguments& a);
const char* help_of_run();

std::vector<CompletionSource> acceleration_sources();
std::vector<SupportPage> acceleration_pages();

}  // namespace nrd::cli
