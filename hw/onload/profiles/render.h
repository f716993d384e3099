// Variables in the forms in which others take them. Each form quotes every value in full, so what is read back is what
// was written; tests/profiles has the readers themselves say so.
//
// All or nothing: BadRequest for a name or value that no reader would take (variable.h). What a profile must not set
// may be in here; somebody else may have put it there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/onload/profiles/evaluate.h"

namespace nrd::profiles {

// NAME="value", a line each: for EnvironmentFile= of systemd.exec(5), and for `.` of a shell.
Result<std::string> render_env(const Environment& environment);

// A drop-in for a unit: the variables, Onload's devices, and the order after nrd.
Result<std::string> render_drop_in(const Environment& environment);

struct Profile {
  std::string name;  // or path
  Environment environment;
};

// A v1 ConfigMap a profile. BadRequest also if two profiles would have the same name there.
Result<std::string> render_config_maps(const std::vector<Profile>& profiles);

// "/etc/p/My_Profile.opf" -> "onload-my-profile-profile"; what a ConfigMap's name (RFC 1123) cannot have becomes a
// dash. BadRequest if nothing is left, or too much.
Result<std::string> config_map_name(const std::string& profile);

}  // namespace nrd::profiles
