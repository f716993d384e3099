#include "api/rmd/acl.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/find_in.h"
#include "base/split.h"

namespace nrd::rmd {
namespace {

constexpr size_t kNameLimit = 256;
constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
// Permissions that RMD's own file does not grant to any role.
constexpr std::string_view kMissingInRmd = "p, user, /hospitality, POST\np, user, /mba, GET\n";

Failure wrong(std::string problem) { return fail(ErrorCode::BadRequest, std::move(problem)); }

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (bool is_last = false; !is_last;) {
    is_last = line.find(',') == line.npos;
    fields.push_back(trimmed(take_until(line, ',')));
  }
  return fields;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameLimit && text.find_first_of(" \t\"") == text.npos;
}

std::string_view without_brackets(std::string_view text) {
  const bool has_brackets = text.size() > 2 && text.starts_with('(') && text.ends_with(')');
  return has_brackets ? text.substr(1, text.size() - 2) : text;
}

// "GET", "(PATCH)|(DELETE)", "(GET|POST)": the subset of regular expressions in use. nullopt for any other.
std::optional<std::vector<std::string>> methods_in(std::string_view text) {
  const std::string_view inner = without_brackets(text);
  if (inner.find_first_of("()") == inner.npos) text = inner;
  std::vector<std::string> methods;
  for (bool is_last = false; !is_last;) {
    is_last = text.find('|') == text.npos;
    const std::string_view method = without_brackets(take_until(text, '|'));
    if (std::ranges::find(kMethods, method) == kMethods.end()) return std::nullopt;
    methods.emplace_back(method);
  }
  return methods;
}

// "/v1/workloads/" becomes "/workloads".
std::string_view resource_of(std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  if (path.starts_with("/v1/")) path.remove_prefix(kVersion.size());
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

Result<Acl::Permission> Acl::permission_of(std::string_view path, std::string_view methods) {
  if (!path.starts_with('/')) return wrong("a path must begin with /, for example /workloads/*");
  Permission permission;
  const size_t star = path.find('*');
  permission.is_prefix = star != path.npos;
  permission.path = path.substr(0, star);
  if (methods == ".*" || methods == "*") return permission;
  auto listed = methods_in(methods);
  if (!listed) {
    return wrong("expected methods GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS, separated by |, or .* for all");
  }
  permission.methods = *std::move(listed);
  return permission;
}

Result<void> Acl::add(std::string_view line) {
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields[0] == "g" && fields.size() == 3 && is_name(fields[1]) && is_name(fields[2])) {
    roles_[std::string(fields[1])].emplace(fields[2]);
    role_names_.emplace(fields[2]);
    return {};
  }
  if (fields[0] != "p" || fields.size() != 4 || !is_name(fields[1])) {
    return wrong("expected \"p, ROLE, PATH, METHODS\" or \"g, NAME, ROLE\"");
  }
  Permission permission = TRY(permission_of(fields[2], fields[3]));
  permissions_[std::string(fields[1])].push_back(std::move(permission));
  role_names_.emplace(fields[1]);
  return {};
}

Result<Acl> Acl::parse(std::string_view text, const std::string& name) {
  if (text.size() > kAclLimit) return wrong(fmt::format("{}: larger than {} bytes", name, kAclLimit));
  Acl acl;
  for (std::string_view own = kMissingInRmd; !own.empty();) {
    TRY(acl.add(take_until(own, '\n')));
  }
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    const std::string place = fmt::format("{}:{}: ", name, number);
    if (number > kAclLineLimit) return wrong(fmt::format("{}more than {} lines", place, kAclLineLimit));
    if (line.empty() || line.starts_with('#')) continue;
    if (const auto added = acl.add(line); !added) return wrong(place + added.error().message);
  }
  return acl;
}

bool Acl::role_permits(const std::string& role, std::string_view method, std::string_view path) const {
  const auto* found = find_in(permissions_, role);
  return found && std::ranges::any_of(*found, [method, path](const Permission& permission) {
           const bool fits = permission.is_prefix ? path.starts_with(permission.path) : path == permission.path;
           const auto& methods = permission.methods;
           return fits && (methods.empty() || std::ranges::find(methods, method) != methods.end());
         });
}

bool Acl::has_role(const std::string& user) const {
  const auto* own = find_in(roles_, user);
  return own && (!role_names_.contains(user) || own->contains(user));
}

bool Acl::permits(const std::string& user, std::string_view method, std::string_view path) const {
  if (!has_role(user)) return false;
  if (method == "HEAD") method = "GET";
  path = resource_of(path);
  // Visit each role once; the g lines may form cycles.
  std::set<std::string> seen{user};
  std::vector<std::string> ahead{user};
  while (!ahead.empty()) {
    const auto* given = find_in(roles_, ahead.back());
    ahead.pop_back();
    if (!given) continue;
    for (const std::string& role : *given) {
      if (role_permits(role, method, path)) return true;
      if (seen.insert(role).second) ahead.push_back(role);
    }
  }
  return false;
}

}  // namespace nrd::rmd
