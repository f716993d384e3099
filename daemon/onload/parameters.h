// Decides which Onload module parameters API clients may set.
//
// Some parameters grant privileges: sfc_char.phys_mode_gid = -1 opens DMA to every user, onload.cplane_server_uid sets
// the user of a program, onload.allow_insecure_setuid_sharing does what its name says. Future releases may add more, so
// this is an allowlist of tuning parameters, taken from Onload's source (src/driver, src/lib of OpenOnload 8 and 9).
// Programs must come from the version's own tree; for all other parameters root decides in nrd.toml:
//
//   parameters = ["sfc_char.phys_mode_gid=1042", "onload.no_shared_state_panic"]     this value alone; any value
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/onload/spec.h"

namespace nrd::daemon {

struct AllowedParameter;

// "MODULE.NAME" or "MODULE.NAME=VALUE"; nullopt: malformed.
std::optional<AllowedParameter> parse_allowed_parameter(std::string_view text);

// BadRequest for the first parameter that is not allowed. `tree`: where the version's files lie.
Result<void> check_parameters(const onload::Parameters& parameters, const std::vector<AllowedParameter>& allowed,
                              const std::string& tree);

}  // namespace nrd::daemon
