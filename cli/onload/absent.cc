// nrdctl built without Onload (NRD_ONLOAD=OFF): no commands and options of it.
#include "cli/acceleration.h"
#include "cli/arguments.h"

namespace nrd::cli {

std::shared_ptr<AccelerationArguments> acceleration_arguments() { return {}; }

void declare_acceleration(CLI::App& /*app*/, Arguments& /*a*/) {}

void declare_acceleration_exports(CLI::App& /*exported*/, Arguments& /*a*/) {}

CLI::Option* declare_acceleration_of_run(CLI::App& /*run*/, Arguments& /*a*/) { return nullptr; }

void declare_acceleration_details(CLI::App& /*run*/, Arguments& /*a*/, CLI::Option* /*acceleration*/) {}

Accelerate acceleration_of(const CLI::App& /*run*/, const Arguments& /*a*/) { return {}; }

const char* help_of_run() { return "run a command with its own CPUs and cache ways; released when it exits"; }

std::vector<CompletionSource> acceleration_sources() { return {}; }

std::vector<SupportPage> acceleration_pages() { return {}; }

}  // namespace nrd::cli
