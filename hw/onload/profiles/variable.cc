#include "hw/onload/profiles/variable.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/control.h"
#include "base/utf8.h"

namespace nrd::profiles {
namespace {

constexpr auto kForbiddenPrefixes = std::to_array<std::string_view>({
    "LD_",         // ld.so(8): LD_PRELOAD, LD_LIBRARY_PATH, LD_AUDIT etc.
    "MALLOC_",     // mallopt(3), mtrace(3)
    "BASH_FUNC_",  // functions imported by bash
    "PYTHON", "PERL", "RUBY", "LUA_",
    "OPENSSL_",  // configuration, engines and modules to load
});

constexpr auto kForbiddenNames = std::to_array<std::string_view>({
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    // Others that glibc ignores in setuid programs.
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TMPDIR",
    "TZDIR",
    // Options and code of other interpreters.
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "DOTNET_STARTUP_HOOKS",
    // Choose the preloaded library and the profiles.
    "ONLOAD_PRELOAD",
    "HOME",
});

// Of Onload's library: the preload of child processes, a log file that is truncated, and a socket (startup.c, exec.c
// and vi_cluster of ef_vi in OpenOnload).
constexpr auto kNamesOfFiles =
    std::to_array<std::string_view>({"EF_LD_PRELOAD", "EF_LOG_FILE", "EF_VI_CLUSTER_SOCKET"});

// Refused by systemd and YAML.
bool is_noncharacter(uint32_t value) { return (value & 0xfffeU) == 0xfffe || (value >= 0xfdd0 && value <= 0xfdef); }

}  // namespace

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameLimit && begins_name(name.front()) &&
         std::ranges::all_of(name, continues_name);
}

bool is_forbidden(std::string_view name) {
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::any_of(kForbiddenPrefixes, begins) ||
         std::ranges::find(kForbiddenNames, name) != kForbiddenNames.end();
}

bool is_setting(std::string_view name) {
  return name.starts_with("EF_") && std::ranges::find(kNamesOfFiles, name) == kNamesOfFiles.end();
}

std::string problem_of_value(std::string_view value) {
  if (value.size() > kValueLimit) return fmt::format("is longer than {} bytes", kValueLimit);
  for (std::string_view rest = value; !rest.empty();) {
    const CodePoint point = first_code_point(rest);
    if (point.length == 0 || is_noncharacter(point.value)) return "is not UTF-8";
    if (control_length(rest) > 0) return "contains a line feed or another control character";
    rest.remove_prefix(point.length);
  }
  return {};
}

}  // namespace nrd::profiles
