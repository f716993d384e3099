// nrdctl export systemd, docker and cdi: the launch environment of Onload as systemd, docker or CDI configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json/value.h"
#include "base/result.h"
#include "cli/client.h"
#include "cli/onload/launch.h"

namespace nrd::cli {

enum class Kind {
  Systemd,  // drop-in for a systemd unit
  Docker,   // arguments for docker run or podman run, for a shell
  Cdi,      // CDI specification for /etc/cdi
};

// `allocation`: the response to an allocation request. Paths go through the `current` link so that they stay valid
// after an upgrade.
Result<std::string> export_text(Kind kind, const json::Value& allocation);

// Holds an allocation only while reading it.
OrStop<> print_export(const Client& client, Kind kind, const OnloadStart& request);

}  // namespace nrd::cli
