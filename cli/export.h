// nrdctl export unit: configuration for systemd.
#pragma once

#include <string>

#include "cli/answer.h"

namespace nrd::cli {

// Prints the drop-in that starts a service in nrd.slice.
Outcome<> export_unit(const std::string& service);

}  // namespace nrd::cli
