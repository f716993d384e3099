// The options that say how nrdctl reaches nrd.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/client.h"
#include "cli/password.h"

namespace nrd::cli {

// From the environment, which options override.
Endpoint endpoint_of_environment();
void declare_endpoint(CLI::App& app, Endpoint& to, PasswordSource& password);
// After parsing: throws CLI::ValidationError for TLS options that would have no effect.
void check_endpoint(const CLI::App& app, Endpoint& to);

}  // namespace nrd::cli
