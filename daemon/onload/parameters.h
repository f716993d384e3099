// Which parameters of Onload's modules a client of the API may set.
//
// Some grant rights: sfc_char.phys_mode_gid = -1 opens DMA to every user, onload.cplane_server_uid says as whom a
// program runs, onload.allow_insecure_setuid_sharing what its name says. What a release to come adds, nobody can list.
// So the list is of those that only tune, read in Onload's own source (src/driver, src/lib of OpenOnload 8 and 9);
// programs are taken from the version's own tree; and for all others root decides in nrd.toml:
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

struct AllowedParameter {
  std::string module;
  std::string name;
  std::optional<std::string> value;  // nullopt: any
  friend bool operator==(const AllowedParameter&, const AllowedParameter&) = default;
};

// "MODULE.NAME" or "MODULE.NAME=VALUE"; nullopt: it is neither.
std::optional<AllowedParameter> parse_allowed_parameter(std::string_view text);

// BadRequest with the field of the first that may not be set so. `tree`: where the files of the version lie.
Result<void> check_parameters(const onload::Parameters& parameters, const std::vector<AllowedParameter>& allowed,
                              const std::string& tree);

}  // namespace nrd::daemon
