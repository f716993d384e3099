#include "hw/onload/profiles/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "hw/onload/profiles/variable.h"

namespace nrd::profiles {
namespace {

// The API server's limit for all data of a ConfigMap.
constexpr size_t kConfigMapLimit = size_t{1} << 20;
static_assert(kVariablesLimit * (kNameLimit + kValueLimit) <= kConfigMapLimit);

Result<void> check(const Environment& environment) {
  if (environment.size() > kVariablesLimit) return fail(ErrorCode::BadRequest, "more than 512 variables");
  for (const auto& [name, value] : environment) {
    if (!is_name(name)) return fail(ErrorCode::BadRequest, shown(name) + " is not a valid variable name");
    const std::string problem = problem_of_value(value);
    if (!problem.empty()) return fail(ErrorCode::BadRequest, fmt::format("the value of {} {}", name, problem));
  }
  return {};
}

// `text` in double quotes, with a backslash before each of `special`.
std::string quoted(std::string_view text, std::string_view special) {
  std::string result = "\"";
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result + '"';
}

// systemd.unit(5): "%" begins a specifier, "%%" is a literal percent sign.
std::string escape_specifiers(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '%' ? "%%" : std::string(1, c);
  return result;
}

std::string config_map(const std::string& name, const Environment& environment) {
  std::string text = fmt::format(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  labels:\n    app.kubernetes.io/part-of: onload\ndata:",
      name);
  if (environment.empty()) return text + " {}\n";
  text += '\n';
  // Quote names too: YAML reads NO, ON and Y as booleans.
  for (const auto& [key, value] : environment) text += fmt::format("  \"{}\": {}\n", key, quoted(value, "\"\\"));
  return text;
}

}  // namespace

Result<std::string> render_env(const Environment& environment) {
  TRY(check(environment));
  std::string text;
  for (const auto& [name, value] : environment) text += name + "=" + quoted(value, "\"\\`$") + "\n";
  return text;
}

Result<std::string> render_drop_in(const Environment& environment) {
  TRY(check(environment));
  std::string text = "[Unit]\nAfter=nrd.service\n\n[Service]\n";
  for (const auto& [name, value] : environment) {
    text += "Environment=" + quoted(escape_specifiers(name + "=" + value), "\"\\") + "\n";
  }
  for (const char* device : {"/dev/onload", "/dev/onload_epoll", "/dev/sfc_char"}) {
    text += fmt::format("DeviceAllow={} rw\n", device);
  }
  return text;
}

Result<std::string> render_config_maps(const std::vector<Profile>& profiles) {
  std::string text;
  std::set<std::string> names;
  for (const Profile& profile : profiles) {
    const Result<std::string> name = config_map_name(profile.name);
    if (!name) return name;
    TRY(check(profile.environment));
    if (!names.insert(*name).second)
      return fail(ErrorCode::BadRequest, "two profiles would have the ConfigMap name " + *name);
    text += (text.empty() ? "" : "---\n") + config_map(*name, profile.environment);
  }
  return text;
}

Result<std::string> config_map_name(const std::string& profile) {
  constexpr size_t kLimit = 253;  // of a DNS subdomain
  constexpr std::string_view kExtension = ".opf";
  std::string base = lower_case(std::string_view(profile).substr(profile.rfind('/') + 1));
  if (base.ends_with(kExtension)) base.resize(base.size() - kExtension.size());
  std::string middle;
  for (const char c : base) {
    const bool is_valid = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_valid || !middle.ends_with('-')) middle += is_valid ? c : '-';
  }
  const size_t first = middle.find_first_not_of('-');
  if (first == std::string::npos)
    return fail(ErrorCode::BadRequest, shown(profile) + " cannot be turned into a ConfigMap name");
  middle = middle.substr(first, middle.find_last_not_of('-') + 1 - first);
  const std::string name = "onload-" + middle + "-profile";
  if (name.size() > kLimit) return fail(ErrorCode::BadRequest, shown(profile) + " is too long for a ConfigMap");
  return name;
}

}  // namespace nrd::profiles
