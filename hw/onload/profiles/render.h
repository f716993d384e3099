// Renders variables as environment files, unit drop-ins and ConfigMaps. Values are fully quoted, so readers get the
// exact value; tests/profiles checks this with the real readers.
//
// All or nothing: BadRequest for a name or value that no reader accepts (variable.h). Variables that a profile must not
// set are allowed here; the caller may have set them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/profiles/evaluate.h"

namespace nrd::profiles {

// NAME="value" lines: for EnvironmentFile= of systemd.exec(5) and for `.` in a shell.
Result<std::string> render_env(const Environment& environment);

// A drop-in for a unit: the variables, Onload's devices, and After=nrd.service.
Result<std::string> render_drop_in(const Environment& environment);

struct Profile {
  std::string name;  // or path
  Environment environment;
};

// One v1 ConfigMap per profile. BadRequest also if two would have the same name.
Result<std::string> render_config_maps(const std::vector<Profile>& profiles);

// "/etc/p/My_Profile.opf" -> "onload-my-profile-profile"; characters that are invalid in a ConfigMap's name (RFC 1123)
// become dashes. BadRequest if the result is empty or too long.
Result<std::string> config_map_name(const std::string& profile);

}  // namespace nrd::profiles
