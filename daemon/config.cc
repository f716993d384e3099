#include "daemon/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "api/http/endpoints.h"
#include "base/file.h"
#include "base/number.h"
#include "base/way_mask.h"
#include "engine/onload/enum_names.h"

namespace nrd::daemon {
namespace {

constexpr int64_t kMostShared = 1'000'000;
constexpr int64_t kMostReserved = 1024;  // more classes than any CPU has
constexpr size_t kMostNames = 64;
constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();
constexpr size_t kConfigLimit = size_t{1} << 20;

// The error without its position; empty: none.
using Problem = std::string;
using SetKey = std::function<Problem(const toml::node&)>;
using Keys = std::map<std::string, SetKey>;

SetKey boolean(bool& target) {
  return [&target](const toml::node& node) -> Problem {
    if (!node.is_boolean()) return "expected true or false";
    target = **node.as_boolean();
    return {};
  };
}

template <typename Store>
SetKey integer(int64_t least, int64_t most, Store store) {
  return [=](const toml::node& node) -> Problem {
    const std::string range = "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!node.is_integer()) return range;
    const int64_t value = **node.as_integer();
    if (value < least || value > most) return range + ", not " + std::to_string(value);
    store(value);
    return {};
  };
}

SetKey port(uint16_t& target) {
  return integer(1, 65535, [&target](int64_t value) { target = static_cast<uint16_t>(value); });
}

SetKey ways(std::optional<unsigned>& target) {
  return integer(0, WayMask::kMaxWays, [&target](int64_t value) { target = static_cast<unsigned>(value); });
}

SetKey cpu_list(CpuSet& target) {
  return [&target](const toml::node& node) -> Problem {
    const std::string list = node.value_or(std::string("?"));
    const Result<CpuSet> cpus = list.empty() ? CpuSet() : CpuSet::parse(list);
    if (!cpus) return "expected a list of CPUs in quotes, such as \"0-1,8\"";
    target = *cpus;
    return {};
  };
}

SetKey absolute_path(std::string& target) {
  return [&target](const toml::node& node) -> Problem {
    if (!node.is_string() || !node.as_string()->get().starts_with('/')) return "expected an absolute path in quotes";
    target = node.as_string()->get();
    return {};
  };
}

// A list of strings that each pass the check. Entries of other types count as empty strings.
template <typename Test>
SetKey texts(std::vector<std::string>& target, const char* expected, size_t most, Test is_good) {
  return [=, &target](const toml::node& node) -> Problem {
    if (!node.is_array() || node.as_array()->size() > most) return expected;
    std::vector<std::string> found;
    for (const toml::node& item : *node.as_array()) {
      found.push_back(item.value_or(std::string()));
      if (!is_good(found.back())) return expected;
    }
    target = std::move(found);
    return {};
  };
}

SetKey absolute_paths(std::vector<std::string>& target) {
  return texts(target, "expected a list of absolute paths in quotes", kAnyNumber,
               [](const std::string& path) { return path.starts_with('/'); });
}

SetKey text(std::string& target) {
  return [&target](const toml::node& node) -> Problem {
    if (!node.is_string()) return "expected text in quotes";
    target = node.as_string()->get();
    return {};
  };
}

// Any key of [tls] enables HTTPS.
SetKey tls_file(std::optional<http::TlsFiles>& tls, std::string http::TlsFiles::*file) {
  return [&tls, file](const toml::node& node) {
    if (!tls) tls.emplace();
    return absolute_path((*tls).*file)(node);
  };
}

SetKey client_auth(std::optional<http::TlsFiles>& tls) {
  return [&tls](const toml::node& node) -> Problem {
    if (!tls) tls.emplace();
    const std::string value = node.value_or(std::string());
    if (value != "require" && value != "optional") return "expected \"require\" or \"optional\"";
    tls->client_auth = value == "require" ? http::ClientAuth::Require : http::ClientAuth::Optional;
    return {};
  };
}

// ["OU=Admin", "CN=Alice"]: parts of certificate subjects.
SetKey subject_parts(std::vector<std::string>& target) {
  return texts(target, "expected a list of parts of a subject, such as [\"OU=Admin\"]", kAnyNumber,
               [](const std::string& part) {
                 const size_t equals = part.find('=');
                 return equals != 0 && equals != part.npos && equals + 1 != part.size();
               });
}

// Command line patterns (base/task.h).
SetKey patterns(std::vector<std::string>& target) {
  constexpr size_t kLongest = 256;
  return texts(target, "expected a list of at most 64 patterns of 1 to 256 bytes, such as [\"ovs*\"]", kMostNames,
               [](const std::string& pattern) { return !pattern.empty() && pattern.size() <= kLongest; });
}

// PAM user names.
SetKey user_names(std::vector<std::string>& target) {
  return texts(target, "expected a list of users, such as [\"alice\"]", kAnyNumber,
               [](const std::string& name) { return !name.empty(); });
}

// A service name, a file in /etc/pam.d.
SetKey service_name(std::string& target) {
  return [&target](const toml::node& node) -> Problem {
    const std::string name = node.value_or(std::string());
    const bool is_plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == name.npos;
    if (name.empty() || !is_plain) return "expected a PAM service name: lower-case letters, digits, - and _";
    target = name;
    return {};
  };
}

SetKey level(log::Priority& target) {
  return [&target](const toml::node& node) -> Problem {
    const std::optional<log::Priority> level = level_of(node.value_or(std::string()));
    if (!level) return "expected \"error\", \"warning\", \"notice\", \"info\" or \"debug\"";
    target = *level;
    return {};
  };
}

SetKey mba_mode(std::optional<rdt::MbaUnit>& target) {
  return [&target](const toml::node& node) -> Problem {
    const std::string value = node.value_or(std::string());
    if (value != "as-mounted" && value != "percentage" && value != "mbps")
      return "expected \"as-mounted\", \"percentage\" or \"mbps\"";
    target.reset();
    if (value == "percentage") target = rdt::MbaUnit::Percent;
    if (value == "mbps") target = rdt::MbaUnit::Mbps;
    return {};
  };
}

SetKey foreign_groups(ForeignGroups& target) {
  return [&target](const toml::node& node) -> Problem {
    const std::string value = node.value_or(std::string());
    if (value != "report" && value != "refuse") return "expected \"report\" or \"refuse\"";
    target = value == "report" ? ForeignGroups::Report : ForeignGroups::Refuse;
    return {};
  };
}

SetKey users_policy(onload::UsersPolicy& target) {
  return [&target](const toml::node& node) -> Problem {
    const auto policy = onload::parse<onload::UsersPolicy>(node.value_or(std::string()));
    if (!policy) return "expected one of " + onload::all_words<onload::UsersPolicy>() + ", in quotes";
    target = *policy;
    return {};
  };
}

SetKey at_start(onload::AtStart& target) {
  return [&target](const toml::node& node) -> Problem {
    const std::string value = node.value_or(std::string());
    if (value != "apply" && value != "observe") return "expected \"apply\" or \"observe\"";
    target = value == "apply" ? onload::AtStart::Apply : onload::AtStart::Observe;
    return {};
  };
}

// Octal permissions as for chmod(1): "0660". Never 0, because mode 0 marks closed device access.
SetKey file_mode(mode_t& target) {
  return [&target](const toml::node& node) -> Problem {
    const auto mode = parse_number<mode_t>(node.value_or(std::string_view()), 8);
    if (!mode || *mode == 0 || *mode > 0777) return "expected permissions in quotes, \"0001\" to \"0777\"";
    target = *mode;
    return {};
  };
}

// ["root", "@nrd"]: user names, and group names with @.
SetKey accounts(std::vector<std::string>& target) {
  return texts(target, "expected a list of at most 64 users and @groups, such as [\"root\", \"@nrd\"]", kMostNames,
               [](const std::string& name) { return !name.empty() && name != "@"; });
}

Problem read_local_socket(const toml::table& table, LocalSocket& socket) {
  socket = {.path = {}, .name = {}, .admin = {}, .user = {}, .run = {}};
  const Keys keys = {{"path", absolute_path(socket.path)},
                     {"name", text(socket.name)},
                     {"admin", accounts(socket.admin)},
                     {"user", accounts(socket.user)},
                     {"run", accounts(socket.run)}};
  for (const auto& [key, node] : table) {
    const auto known = keys.find(std::string(key.str()));
    if (known == keys.end()) return "unknown key " + std::string(key.str()) + "; allowed: path, name, admin, user, run";
    if (const Problem problem = known->second(node); !problem.empty()) return known->first + ": " + problem;
  }
  if (socket.path.empty()) return "path is missing";
  return {};
}

SetKey local_sockets(std::vector<LocalSocket>& target) {
  return [&target](const toml::node& node) -> Problem {
    constexpr size_t kMost = 16;
    constexpr const char* kExpected = "expected 1 to 16 sections [[server.sockets]]";
    if (!node.is_array() || node.as_array()->empty() || node.as_array()->size() > kMost) return kExpected;
    std::vector<LocalSocket> found;
    for (const toml::node& item : *node.as_array()) {
      if (!item.is_table()) return kExpected;
      const Problem problem = read_local_socket(*item.as_table(), found.emplace_back());
      if (!problem.empty()) return problem;
      const std::string& path = found.back().path;
      if (std::ranges::count_if(found, [&path](const LocalSocket& other) { return other.path == path; }) > 1)
        return "path: duplicate " + path;
    }
    target = std::move(found);
    return {};
  };
}

SetKey allowed_parameters(std::vector<AllowedParameter>& target) {
  return [&target](const toml::node& node) -> Problem {
    constexpr const char* kExpected =
        "expected a list of MODULE.NAME and MODULE.NAME=VALUE, such as [\"sfc_char.phys_mode_gid=1042\"]";
    if (!node.is_array()) return kExpected;
    std::vector<AllowedParameter> found;
    for (const toml::node& item : *node.as_array()) {
      std::optional<AllowedParameter> allowed = parse_allowed_parameter(item.value_or(std::string()));
      if (!allowed) return kExpected;
      found.push_back(*std::move(allowed));
    }
    target = std::move(found);
    return {};
  };
}

Keys onload_keys(Config::Onload& onload) {
  return {{"versions", absolute_path(onload.versions)},
          {"imports", absolute_path(onload.imports)},
          {"users_policy", users_policy(onload.users_policy)},
          {"look_interval_seconds",
           integer(1, 86400, [&onload](int64_t value) { onload.refresh_interval = std::chrono::seconds(value); })},
          {"at_start", at_start(onload.at_start)},
          {"device_user", text(onload.device_user)},
          {"device_group", text(onload.device_group)},
          {"device_mode", file_mode(onload.device_mode)},
          {"protect_default_route", boolean(onload.protect_default_route)},
          {"profiles", absolute_paths(onload.profiles)},
          {"parameters", allowed_parameters(onload.parameters)},
          {"max_allocations",
           integer(0, 100000, [&onload](int64_t value) { onload.max_allocations = static_cast<size_t>(value); })}};
}

// All keys, by section.
std::map<std::string, Keys> all_keys(Config& config) {
  return {
      {"server",
       {{"debug", boolean(config.server.debug)},
        {"debug_port", port(config.server.debug_port)},
        {"address", text(config.server.address)},
        {"tls_port", port(config.server.tls_port)},
        {"sockets", local_sockets(config.server.sockets)}}},
      {"tls",
       {{"certificate", tls_file(config.tls, &http::TlsFiles::certificate)},
        {"key", tls_file(config.tls, &http::TlsFiles::key)},
        {"client_ca", tls_file(config.tls, &http::TlsFiles::client_ca)},
        {"client_auth", client_auth(config.tls)}}},
      {"roles",
       {{"admin", subject_parts(config.admins)},
        {"user", subject_parts(config.users)},
        {"pam_admin", user_names(config.pam_admins)},
        {"pam_user", user_names(config.pam_users)}}},
      {"access",
       {{"pam", boolean(config.access.pam)},
        {"pam_service", service_name(config.access.pam_service)},
        {"acl", absolute_path(config.access.acl)},
        {"admin_certificates", absolute_path(config.access.admin_certificates)},
        {"user_certificates", absolute_path(config.access.user_certificates)}}},
      {"state", {{"directory", absolute_path(config.state_directory)}}},
      {"rdt", {{"mba_mode", mba_mode(config.mount.unit)}, {"tree_mode", file_mode(config.mount.tree_mode)}}},
      {"cache_pools",
       {{"os", ways(config.pools.os)},
        {"guarantee", ways(config.pools.guarantee)},
        {"besteffort", ways(config.pools.besteffort)},
        {"shared", ways(config.pools.shared)},
        {"infra", integer(0, WayMask::kMaxWays,
                          [&config](int64_t value) { config.pools.infra = static_cast<unsigned>(value); })},
        {"max_allowed_shared",
         integer(1, kMostShared, [&config](int64_t value) { config.max_shared = static_cast<unsigned>(value); })},
        {"foreign_groups", foreign_groups(config.foreign_groups)},
        {"shrink", boolean(config.shrink)}}},
      {"classes",
       {{"reserve", integer(0, kMostReserved,
                            [&config](int64_t value) { config.reserved_classes = static_cast<unsigned>(value); })}}},
      {"os", {{"cpus", cpu_list(config.groups.os)}}},
      {"infra",
       {{"cpus", cpu_list(config.groups.infra)},
        {"processes", patterns(config.groups.infra_processes)},
        {"users", user_names(config.infra_users)}}},
      {"policy", {{"file", absolute_path(config.policy.policies)}, {"cpu_map", absolute_path(config.policy.cpu_map)}}},
      {"drift",
       {{"interval_seconds",
         integer(0, 86400, [&config](int64_t value) { config.drift_interval = std::chrono::seconds(value); })}}},
      {"monitoring",
       {{"interval_seconds",
         integer(0, 60, [&config](int64_t value) { config.usage_interval = std::chrono::seconds(value); })}}},
      {"tasks",
       {{"interval_seconds",
         integer(0, 86400, [&config](int64_t value) { config.tasks_interval = std::chrono::seconds(value); })}}},
      {"onload", onload_keys(config.onload)},
      {"log", {{"level", level(config.log_level)}}}};
}

Failure at(const std::string& name, const toml::source_region& source, const std::string& problem) {
  return fail(ErrorCode::BadRequest, name + ":" + std::to_string(source.begin.line) + ": " + problem);
}

Result<void> read_section(const std::string& name, const std::string& section, const Keys& keys,
                          const toml::table& table) {
  for (const auto& [key, node] : table) {
    const std::string full = section + "." + std::string(key.str());
    const auto known = keys.find(std::string(key.str()));
    if (known == keys.end()) return at(name, node.source(), "unknown key " + full);
    const Problem problem = known->second(node);
    if (!problem.empty()) return at(name, node.source(), full + ": " + problem);
  }
  return {};
}

// All three or none: without a CA clients could not be authenticated.
Result<void> check_tls(const http::TlsFiles& tls) {
  for (const auto& [key, path] : {std::pair{"tls.certificate", &tls.certificate}, std::pair{"tls.key", &tls.key},
                                  std::pair{"tls.client_ca", &tls.client_ca}}) {
    if (!path->empty()) continue;
    return fail(ErrorCode::BadRequest, std::string(key) +
                                           " is missing: HTTPS requires certificate, key and client_ca " +
                                           "(\"nrdctl tls init\" creates them)");
  }
  return {};
}

// Reject settings that would have no effect.
Result<void> check_access(const Config& config) {
  const bool lets_in_without = config.tls && config.tls->client_auth == http::ClientAuth::Optional;
  if (config.access.pam && !lets_in_without) {
    return fail(ErrorCode::BadRequest,
                "access.pam applies to HTTPS clients without a certificate: it requires [tls] and "
                "tls.client_auth = \"optional\"");
  }
  const bool has_roles = !config.pam_admins.empty() || !config.pam_users.empty();
  if ((!config.access.acl.empty() || has_roles) && !config.access.pam) {
    return fail(ErrorCode::BadRequest,
                "access.acl, roles.pam_admin and roles.pam_user apply to PAM users: they require access.pam = true");
  }
  if (!config.access.acl.empty() && has_roles) {
    return fail(ErrorCode::BadRequest, "access.acl cannot be combined with roles.pam_admin and roles.pam_user");
  }
  return {};
}

}  // namespace

std::optional<log::Priority> level_of(const std::string& word) {
  static const std::map<std::string, log::Priority> kLevels{{"error", log::Priority::Error},
                                                            {"warning", log::Priority::Warning},
                                                            {"notice", log::Priority::Notice},
                                                            {"info", log::Priority::Info},
                                                            {"debug", log::Priority::Debug}};
  const auto found = kLevels.find(word);
  return found == kLevels.end() ? std::nullopt : std::optional(found->second);
}

Result<Config> parse_config(const std::string& text, const std::string& name) {
  toml::table document;
  try {
    document = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return at(name, error.source(), std::string(error.description()));
  }
  Config config;
  const std::map<std::string, Keys> sections = all_keys(config);
  for (const auto& [key, node] : document) {
    const std::string section(key.str());
    const auto known = sections.find(section);
    if (known == sections.end()) return at(name, node.source(), "unknown section [" + section + "]");
    if (!node.is_table()) return at(name, node.source(), section + ": expected a section, [" + section + "]");
    TRY(read_section(name, section, known->second, *node.as_table()));
  }
  return config;
}

Result<Config> load_config(const std::string& path) {
  const Result<std::optional<std::string>> text = read_file(path, kConfigLimit);
  if (!text) return fail(ErrorCode::BadRequest, path + ": cannot read file: " + text.error().detail);
  if (!*text) return fail(ErrorCode::BadRequest, path + ": file not found");
  return parse_config(**text, path);
}

Result<void> check(const Config& config) {
  if (config.server.debug && !http::is_loopback(config.server.address)) {
    return fail(ErrorCode::BadRequest, "server.address is " + config.server.address +
                                           ", but the unauthenticated debug port must use a loopback address "
                                           "(127.0.0.1 or ::1)");
  }
  if (config.tls) {
    TRY(check_tls(*config.tls));
  }
  TRY(check_access(config));
  for (const auto& [key, path] : {std::pair{"state.directory", &config.state_directory},
                                  std::pair{"the local socket", &config.server.sockets.front().path}}) {
    if (path->starts_with('/')) continue;
    return fail(ErrorCode::BadRequest, std::string(key) + " is " + *path + ", expected an absolute path");
  }
  return {};
}

}  // namespace nrd::daemon
