// nrdctl onload emit: what others need to start an application with Onload, in their own words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/json/value.h"
#include "base/result.h"
#include "cli/client.h"
#include "cli/onload/launch.h"

namespace nrd::cli {

enum class Kind {
  Systemd,  // a drop-in for a unit
  Docker,   // arguments for docker run or podman run, for a shell
  Cdi,      // a file for /etc/cdi
};

// From the answer to a request for an allocation. Files are named by way of `current`, so that what is written down
// once is right after an upgrade, too.
Result<std::string> emit(Kind kind, const json::Value& allocation);

// Takes an allocation for as long as it takes to read it.
int emit(const Client& client, Kind kind, const OnloadStart& wish);

}  // namespace nrd::cli
