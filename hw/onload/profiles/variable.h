// What a variable may be called, and what it may hold, wherever it ends: in an environment, a ConfigMap, a unit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nrd::profiles {

constexpr size_t kNameLimit = 128;
constexpr size_t kValueLimit = 1024;
constexpr size_t kVariablesLimit = 512;  // Onload itself knows fewer than 300

constexpr bool begins_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
constexpr bool continues_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

// [A-Za-z_][A-Za-z0-9_]*, at most kNameLimit characters.
bool is_name(std::string_view name);

// It makes the dynamic loader, the C library or an interpreter run other code, or finds programs: LD_PRELOAD, PATH,
// BASH_ENV. A profile tunes what is started; it does not choose what runs. A fence for profiles that are nearly
// trusted: what an application itself makes of a variable, nobody can list.
bool is_forbidden(std::string_view name);

// A setting of Onload, which is all that a profile of the API may set: EF_*, but for the few that name a file to load,
// to write or to connect to. What a value names is no path either (is_path()), whatever a release to come calls it.
bool is_setting(std::string_view name);
inline bool is_path(std::string_view value) { return value.find('/') != std::string_view::npos; }

// What is wrong with a value, "" if nothing: at most kValueLimit bytes of UTF-8, one line, no control characters. More
// than that, one of the forms of render.h could not say.
std::string problem_of_value(std::string_view value);

}  // namespace nrd::profiles
