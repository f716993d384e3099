// Valid names and values of variables, for all targets: environment, ConfigMap, unit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace nrd::profiles {

constexpr size_t kNameLimit = 128;
constexpr size_t kValueLimit = 1024;
constexpr size_t kVariablesLimit = 512;  // Onload has fewer than 300

constexpr bool continues_name(char c) { return is_alphanumeric(c) || c == '_'; }
constexpr bool begins_name(char c) { return continues_name(c) && (c < '0' || c > '9'); }

// [A-Za-z_][A-Za-z0-9_]*, at most kNameLimit characters.
bool is_name(std::string_view name);

// Variables that change which code runs: of the dynamic loader, the C library and interpreters (LD_PRELOAD, PATH,
// BASH_ENV). A safeguard for nearly trusted profiles; variables of applications cannot be listed.
bool is_forbidden(std::string_view name);

// An Onload setting, the only variables that profiles from the API may set: EF_*, except the few that name a file to
// load, write or connect to. In case later releases add more of these, values must not be paths (is_path()).
bool is_setting(std::string_view name);
inline bool is_path(std::string_view value) { return value.find('/') != std::string_view::npos; }

// Why a value is invalid; "": valid. Limited to what all formats of render.h can express: at most kValueLimit bytes of
// UTF-8, one line, no control characters.
std::string problem_of_value(std::string_view value);

}  // namespace nrd::profiles
