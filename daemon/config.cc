#include "daemon/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api/http/endpoints.h"
#include "api/tree/tree.h"
#include "base/number.h"
#include "daemon/config_document.h"
#include "daemon/config_keys.h"
#include "daemon/cpu_quota_values.h"
#include "daemon/reserve_values.h"
#include "engine/model/confinement.h"

namespace nrd::daemon {
namespace {

using tree::at_line;

// All three or none: without a CA clients could not be authenticated, unless by passwords.
Result<void> check_tls(const http::TlsFiles& tls, bool has_passwords) {
  for (const auto& [key, path] : {std::pair{"tls.certificate", &tls.certificate}, std::pair{"tls.key", &tls.key},
                                  std::pair{"tls.client_ca", &tls.client_ca}}) {
    if (!path->empty() || (path == &tls.client_ca && has_passwords)) continue;
    return fail_at(
        ErrorCode::BadRequest, "tls",
        fmt::format("{} is missing: HTTPS requires certificate, key and client_ca (\"nrdctl tls init\" creates them)",
                    key));
  }
  return {};
}

// Reject settings that would have no effect.
Result<void> check_access(const Config& config) {
  const bool lets_in_without = config.tls && config.tls->client_auth == http::ClientAuth::Optional;
  if (config.access.pam && !lets_in_without) {
    return fail_at(ErrorCode::BadRequest, "access.pam",
                   "access.pam applies to HTTPS clients without a certificate: it requires [tls] and "
                   "tls.client_auth = \"optional\"");
  }
  const bool has_roles = !config.pam_admins.empty() || !config.pam_users.empty();
  if ((!config.access.acl.empty() || has_roles) && !config.access.pam) {
    return fail_at(ErrorCode::BadRequest, config.access.acl.empty() ? "roles" : "access.acl",
                   "access.acl, roles.pam_admin and roles.pam_user apply to PAM users: they require access.pam = true");
  }
  if (!config.access.acl.empty() && has_roles) {
    return fail_at(ErrorCode::BadRequest, "access.acl",
                   "access.acl cannot be combined with roles.pam_admin and roles.pam_user");
  }
  return {};
}

// Where the value is wrong. A list is read in order: its first bad table is the last of the shortest list that is
// refused.
size_t line_of_problem(const ConfigKey& key, const ConfigEntry& entry) {
  std::vector<json::Value> items;
  for (const size_t line : entry.items) {
    items.push_back(entry.value.items()[items.size()]);
    Config unused;
    if (!key.parse(json::Value::array(items), unused).empty()) return line;
  }
  return entry.line;
}

Result<void> check_default_pool(const Config& config) {
  if (config.node.default_pool.empty()) return {};
  const CpuPool* pool = find_pool(config.node.cpu_pools, config.node.default_pool);
  if (pool && pool->kind == CpuPool::Kind::Shared) return {};
  return fail_at(ErrorCode::BadRequest, "cpu.default_pool",
                 fmt::format("cpu.default_pool: {} is no shared pool of cpu.pools", config.node.default_pool));
}

// What no node could take. A start and a reload check the rest.
Result<void> check_node(const Config& config) {
  const NodeConfig& node = config.node;
  TRY(check_reserved_cpus(node.groups, node.pools.infra));
  TRY(check_cpu_pools(node.cpu_pools, node.groups));
  TRY(check_reserves(reserves_of(config), node.cpu_pools, {}));
  return check_has_pools(node.confinement, node.cpu_pools);
}

Result<void> read_section(LoadedConfig& loaded, const ConfigSection& section, const std::string& name) {
  if (const Problem problem = unknown_section(section.name); !problem.empty())
    return at_line(name, section.line, problem);
  if (!section.is_table)
    return at_line(name, section.line, fmt::format("{}: expected a section, [{}]", section.name, section.name));
  for (const ConfigEntry& entry : section.entries) {
    const std::string full = section.name + "." + entry.key;
    const ConfigKey* key = find_key(full);
    if (key == nullptr) return at_line(name, entry.line, unknown_key(section.name, entry.key));
    const Problem problem = key->parse(entry.value, loaded.config);
    if (!problem.empty()) return at_line(name, line_of_problem(*key, entry), fmt::format("{}: {}", full, problem));
    loaded.origins[full] = {.source = Origin::Source::File, .file = name, .line = entry.line, .items = entry.items};
  }
  return {};
}

}  // namespace

Result<void> parse_onto(LoadedConfig& loaded, const std::string& text, const std::string& name) {
  const std::vector<ConfigSection> sections = TRY(read_document(text, name));
  for (const ConfigSection& section : sections) {
    TRY(read_section(loaded, section, name));
  }
  return {};
}

Reserves reserves_of(const Config& config) {
  Reserves reserves;
  if (config.kubernetes_reserve) reserves.emplace("kubernetes", *config.kubernetes_reserve);
  return reserves;
}

Result<void> check(const Config& config) {
  if (!http::is_address(config.server.address)) {
    return fail_at(ErrorCode::BadRequest, "server.address",
                   fmt::format("server.address is {}, expected a numeric IP address such as 127.0.0.1 or ::1",
                               config.server.address));
  }
  if (config.server.debug && !http::is_loopback(config.server.address)) {
    return fail_at(
        ErrorCode::BadRequest, "server.address",
        fmt::format(
            "server.address is {}, but the unauthenticated debug port must use a loopback address (127.0.0.1 or ::1)",
            config.server.address));
  }
  if (config.tls) {
    TRY(check_tls(*config.tls, config.access.pam));
  }
  TRY(check_access(config));
  TRY(check_quotas(config.cpu_quotas, config.node.cpu_pools));
  TRY(check_default_pool(config));
  TRY(check_launch_reserves(config));
  TRY(check_node(config));
  for (const auto& [key, path] : {std::pair{"state.directory", &config.state_directory},
                                  std::pair{"the local socket", &config.server.sockets.front().path}}) {
    if (path->starts_with('/')) continue;
    return fail_at(ErrorCode::BadRequest, key, fmt::format("{} is {}, expected an absolute path", key, *path));
  }
  for (size_t i = 0; i < config.server.sockets.size(); ++i) {
    const std::string& path = config.server.sockets[i].path;
    if (path.size() <= kLongestSocketPath) continue;
    return fail_at(
        ErrorCode::BadRequest, fmt::format("server.sockets/{}", i),
        fmt::format("the local socket is {}, expected at most {} bytes, the kernel's limit", path, kLongestSocketPath));
  }
  return {};
}

Error with_position(const LoadedConfig& loaded, Error error) {
  const auto is_of_file = [](const auto& entry) { return entry.second.source == Origin::Source::File; };
  const size_t slash = error.field.find('/');
  auto found = loaded.origins.find(error.field.substr(0, slash));
  if (found == loaded.origins.end()) {
    const std::string section = error.field.substr(0, error.field.find('.')) + ".";
    found = std::ranges::find_if(
        loaded.origins, [&](const auto& entry) { return is_of_file(entry) && entry.first.starts_with(section); });
  }
  if (error.field.empty() || found == loaded.origins.end() || !is_of_file(*found)) return error;
  const Origin& origin = found->second;
  const auto item = slash == std::string::npos ? std::nullopt : parse_number<size_t>(error.field.substr(slash + 1));
  const size_t line = item && *item < origin.items.size() ? origin.items[*item] : origin.line;
  error.message = fmt::format("{}:{}: {}", origin.file, line, error.message);
  return error;
}

Result<void> check(const LoadedConfig& loaded) {
  return check(loaded.config).map_error([&loaded](Error error) { return with_position(loaded, std::move(error)); });
}

}  // namespace nrd::daemon
