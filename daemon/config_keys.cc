#include "daemon/config_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/find_in.h"
#include "base/suggestions.h"
#include "base/way_mask.h"
#include "daemon/config.h"
#include "daemon/cpu_pool_values.h"
#include "daemon/cpu_quota_values.h"
#include "daemon/launch.h"
#include "daemon/reserve_values.h"

namespace nrd::daemon {
namespace {

constexpr unsigned kMostShared = 1'000'000;
constexpr unsigned kMostReserved = 1024;  // more classes than any CPU has
constexpr int64_t kDay = 86400;

constexpr auto kReload = ConfigKey::Takes::Reload;
constexpr auto kRestart = ConfigKey::Takes::Restart;

// A member of [tls]; any of them enables HTTPS, which opens a listener.
template <typename T>
ConfigKey tls_key(const char* name, T http::TlsFiles::*member, ValueType<T> type) {
  return {
      .name = name,
      .takes = kReload,
      .parse =
          [=](const json::Value& value, Config& config) {
            if (!config.tls) config.tls.emplace();
            return type.parse(value, (*config.tls).*member);
          },
      .show = [=](const Config& config) { return type.show(config.tls.value_or(http::TlsFiles{}).*member); },
      .copy = [](const Config& from, Config& to) { to.tls = from.tls; },
      .can_reload = [](const Config& from, const Config& to) { return from.tls.has_value() == to.tls.has_value(); }};
}

// The users of the sockets are reloaded, the sockets are not. Connections are counted by whether `allow` limits them.
ConfigKey sockets_key() {
  ConfigKey sockets = key("server.sockets", kReload, local_sockets(), &Config::server, &Config::Server::sockets);
  sockets.can_reload = [](const Config& from, const Config& to) {
    return std::ranges::equal(from.server.sockets, to.server.sockets, [](const LocalSocket& a, const LocalSocket& b) {
      return a.path == b.path && a.name == b.name && a.allow.has_value() == b.allow.has_value();
    });
  };
  return sockets;
}

std::vector<ConfigKey> server_keys() {
  return {
      key("server.debug", kRestart, boolean(), &Config::server, &Config::Server::debug),
      key("server.debug_port", kRestart, port(), &Config::server, &Config::Server::debug_port),
      key("server.address", kRestart, text(), &Config::server, &Config::Server::address),
      key("server.tls_port", kRestart, port(), &Config::server, &Config::Server::tls_port),
      sockets_key(),
      tls_key("tls.certificate", &http::TlsFiles::certificate, absolute_path()),
      tls_key("tls.key", &http::TlsFiles::key, absolute_path()),
      tls_key("tls.client_ca", &http::TlsFiles::client_ca, absolute_path()),
      tls_key("tls.client_auth", &http::TlsFiles::client_auth, client_auth()),
      key("roles.admin", kReload, subject_parts(), &Config::admins),
      key("roles.user", kReload, subject_parts(), &Config::users),
      key("roles.pam_admin", kReload, user_names(), &Config::pam_admins),
      key("roles.pam_user", kReload, user_names(), &Config::pam_users),
      key("access.pam", kReload, boolean(), &Config::access, &AccessConfig::pam),
      key("access.pam_service", kReload, service_name(), &Config::access, &AccessConfig::pam_service),
      key("access.acl", kReload, absolute_path(), &Config::access, &AccessConfig::acl),
      key("access.admin_certificates", kReload, absolute_path(), &Config::access, &AccessConfig::admin_certificates),
      key("access.user_certificates", kReload, absolute_path(), &Config::access, &AccessConfig::user_certificates),
      key("state.directory", kRestart, absolute_path(), &Config::state_directory),
  };
}

std::vector<ConfigKey> cache_keys() {
  const auto ways = optional_count(0, WayMask::kMaxWays);
  return {
      key("cache_pools.os", kReload, ways, &Config::node, &NodeConfig::pools, &PoolSizes::os),
      key("cache_pools.guarantee", kReload, ways, &Config::node, &NodeConfig::pools, &PoolSizes::guarantee),
      key("cache_pools.besteffort", kReload, ways, &Config::node, &NodeConfig::pools, &PoolSizes::besteffort),
      key("cache_pools.shared", kReload, ways, &Config::node, &NodeConfig::pools, &PoolSizes::shared),
      key("cache_pools.infra", kReload, count(WayMask::kMaxWays), &Config::node, &NodeConfig::pools, &PoolSizes::infra),
      key("cache_pools.max_allowed_shared", kReload, optional_count(1, kMostShared), &Config::node,
          &NodeConfig::max_shared),
      key("cache_pools.shrink", kReload, boolean(), &Config::node, &NodeConfig::shrink),
      key("cache_pools.foreign_groups", kReload, foreign_groups(), &Config::node, &NodeConfig::foreign_groups),
      key("classes.reserve", kReload, count(kMostReserved), &Config::node, &NodeConfig::reserved_classes),
  };
}

std::vector<ConfigKey> node_keys() {
  return {
      key("os.cpus", kReload, cpu_list(), &Config::node, &NodeConfig::groups, &ReservedCpus::os),
      key("cpu.confine", kReload, confinement(), &Config::node, &NodeConfig::confinement),
      key("cpu.pools", kReload, cpu_pools(), &Config::node, &NodeConfig::cpu_pools),
      key("cpu.quotas", kReload, cpu_quotas(), &Config::cpu_quotas),
      key("cpu.default_pool", kReload, text(), &Config::node, &NodeConfig::default_pool),
      key("cpu.systemd_timeout_ms", kReload, milliseconds(100, 20'000), &Config::node, &NodeConfig::systemd_timeout),
      key("reserve.kubernetes", kReload, reserve(), &Config::kubernetes_reserve),
      key("infra.cpus", kReload, cpu_list(), &Config::node, &NodeConfig::groups, &ReservedCpus::infra),
      key("infra.processes", kReload, patterns(), &Config::node, &NodeConfig::groups, &ReservedCpus::infra_processes),
      key("infra.users", kReload, user_names(), &Config::infra_users),
      key("rdt.mba_mode", kRestart, mba_mode(), &Config::mount, &rdt::MountOptions::unit),
      key("rdt.tree_mode", kRestart, file_mode(), &Config::mount, &rdt::MountOptions::tree_mode),
      key("policy.file", kReload, absolute_path(), &Config::policy, &PolicyFiles::policies),
      key("policy.cpu_map", kReload, absolute_path(), &Config::policy, &PolicyFiles::cpu_map),
      key("workloads.directory", kRestart, absolute_path(), &Config::workloads_directory),
      key("drift.interval_seconds", kReload, interval(0, kDay), &Config::drift_interval),
      key("monitoring.interval_seconds", kReload, interval(0, 60), &Config::usage_interval),
      key("tasks.interval_seconds", kReload, interval(0, kDay), &Config::tasks_interval),
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> keys = server_keys();
  for (std::vector<ConfigKey> more : {cache_keys(), node_keys(), launch_keys()})
    keys.insert(keys.end(), more.begin(), more.end());
  keys.push_back(key("log.level", kReload, level(), &Config::log_level));
  return keys;
}

}  // namespace

std::string_view ConfigKey::section() const {
  const std::string_view whole(name);
  return whole.substr(0, whole.find('.'));
}

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> kKeys = all_keys();
  return kKeys;
}

const ConfigKey* find_key(std::string_view name) {
  const auto keys = config_keys();
  return first_with(
      keys, [](const ConfigKey& key) { return std::string_view(key.name); }, name);
}

Problem unknown_section(const std::string& name) {
  std::vector<std::string_view> sections;
  for (const ConfigKey& key : config_keys()) sections.push_back(key.section());
  if (std::ranges::find(sections, name) != sections.end()) return {};
  return fmt::format("unknown section [{}]{}", name, did_you_mean(closest(name, sections), "[", "]"));
}

Problem unknown_key(const std::string& section, const std::string& key) {
  std::vector<std::string_view> names;
  for (const ConfigKey& known : config_keys()) {
    if (known.section() == section) names.push_back(std::string_view(known.name).substr(section.size() + 1));
  }
  const std::string begin = section + ".";
  return fmt::format("unknown key {}{}{}", begin, key, did_you_mean(closest(key, names), begin, ""));
}

}  // namespace nrd::daemon
