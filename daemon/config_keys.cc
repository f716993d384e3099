#include "daemon/config_keys.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/suggestions.h"
#include "base/way_mask.h"
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
  ConfigKey sockets = key(
      "server.sockets", kReload, [](auto& c) -> auto& { return c.server.sockets; }, local_sockets());
  sockets.can_reload = [](const Config& from, const Config& to) {
    return std::ranges::equal(from.server.sockets, to.server.sockets, [](const LocalSocket& a, const LocalSocket& b) {
      return a.path == b.path && a.name == b.name && a.allow.has_value() == b.allow.has_value();
    });
  };
  return sockets;
}

std::vector<ConfigKey> server_keys() {
  return {
      key(
          "server.debug", kRestart, [](auto& c) -> auto& { return c.server.debug; }, boolean()),
      key(
          "server.debug_port", kRestart, [](auto& c) -> auto& { return c.server.debug_port; }, port()),
      key(
          "server.address", kRestart, [](auto& c) -> auto& { return c.server.address; }, text()),
      key(
          "server.tls_port", kRestart, [](auto& c) -> auto& { return c.server.tls_port; }, port()),
      sockets_key(),
      tls_key("tls.certificate", &http::TlsFiles::certificate, absolute_path()),
      tls_key("tls.key", &http::TlsFiles::key, absolute_path()),
      tls_key("tls.client_ca", &http::TlsFiles::client_ca, absolute_path()),
      tls_key("tls.client_auth", &http::TlsFiles::client_auth, client_auth()),
      key(
          "roles.admin", kReload, [](auto& c) -> auto& { return c.admins; }, subject_parts()),
      key(
          "roles.user", kReload, [](auto& c) -> auto& { return c.users; }, subject_parts()),
      key(
          "roles.pam_admin", kReload, [](auto& c) -> auto& { return c.pam_admins; }, user_names()),
      key(
          "roles.pam_user", kReload, [](auto& c) -> auto& { return c.pam_users; }, user_names()),
      key(
          "access.pam", kReload, [](auto& c) -> auto& { return c.access.pam; }, boolean()),
      key(
          "access.pam_service", kReload, [](auto& c) -> auto& { return c.access.pam_service; }, service_name()),
      key(
          "access.acl", kReload, [](auto& c) -> auto& { return c.access.acl; }, absolute_path()),
      key(
          "access.admin_certificates", kReload, [](auto& c) -> auto& { return c.access.admin_certificates; },
          absolute_path()),
      key(
          "access.user_certificates", kReload, [](auto& c) -> auto& { return c.access.user_certificates; },
          absolute_path()),
      key(
          "state.directory", kRestart, [](auto& c) -> auto& { return c.state_directory; }, absolute_path()),
  };
}

std::vector<ConfigKey> cache_keys() {
  const auto ways = optional_count(0, WayMask::kMaxWays);
  return {
      key(
          "cache_pools.os", kReload, [](auto& c) -> auto& { return c.pools.os; }, ways),
      key(
          "cache_pools.guarantee", kReload, [](auto& c) -> auto& { return c.pools.guarantee; }, ways),
      key(
          "cache_pools.besteffort", kReload, [](auto& c) -> auto& { return c.pools.besteffort; }, ways),
      key(
          "cache_pools.shared", kReload, [](auto& c) -> auto& { return c.pools.shared; }, ways),
      key(
          "cache_pools.infra", kReload, [](auto& c) -> auto& { return c.pools.infra; }, count(WayMask::kMaxWays)),
      key(
          "cache_pools.max_allowed_shared", kReload, [](auto& c) -> auto& { return c.max_shared; },
          optional_count(1, kMostShared)),
      key(
          "cache_pools.shrink", kReload, [](auto& c) -> auto& { return c.shrink; }, boolean()),
      key(
          "cache_pools.foreign_groups", kReload, [](auto& c) -> auto& { return c.foreign_groups; }, foreign_groups()),
      key(
          "classes.reserve", kReload, [](auto& c) -> auto& { return c.reserved_classes; }, count(kMostReserved)),
  };
}

std::vector<ConfigKey> node_keys() {
  return {
      key(
          "os.cpus", kReload, [](auto& c) -> auto& { return c.groups.os; }, cpu_list()),
      key(
          "cpu.confine", kReload, [](auto& c) -> auto& { return c.confinement; }, confinement()),
      key(
          "cpu.pools", kReload, [](auto& c) -> auto& { return c.cpu_pools; }, cpu_pools()),
      key(
          "cpu.quotas", kReload, [](auto& c) -> auto& { return c.cpu_quotas; }, cpu_quotas()),
      key(
          "cpu.default_pool", kReload, [](auto& c) -> auto& { return c.default_pool; }, text()),
      key(
          "cpu.systemd_timeout_ms", kReload, [](auto& c) -> auto& { return c.systemd_timeout; },
          milliseconds(100, 20'000)),
      key(
          "reserve.kubernetes", kReload, [](auto& c) -> auto& { return c.kubernetes_reserve; }, reserve()),
      key(
          "infra.cpus", kReload, [](auto& c) -> auto& { return c.groups.infra; }, cpu_list()),
      key(
          "infra.processes", kReload, [](auto& c) -> auto& { return c.groups.infra_processes; }, patterns()),
      key(
          "infra.users", kReload, [](auto& c) -> auto& { return c.infra_users; }, user_names()),
      key(
          "rdt.mba_mode", kRestart, [](auto& c) -> auto& { return c.mount.unit; }, mba_mode()),
      key(
          "rdt.tree_mode", kRestart, [](auto& c) -> auto& { return c.mount.tree_mode; }, file_mode()),
      key(
          "policy.file", kReload, [](auto& c) -> auto& { return c.policy.policies; }, absolute_path()),
      key(
          "policy.cpu_map", kReload, [](auto& c) -> auto& { return c.policy.cpu_map; }, absolute_path()),
      key(
          "workloads.directory", kRestart, [](auto& c) -> auto& { return c.workloads_directory; }, absolute_path()),
      key(
          "drift.interval_seconds", kReload, [](auto& c) -> auto& { return c.drift_interval; }, interval(0, kDay)),
      key(
          "monitoring.interval_seconds", kReload, [](auto& c) -> auto& { return c.usage_interval; }, interval(0, 60)),
      key(
          "tasks.interval_seconds", kReload, [](auto& c) -> auto& { return c.tasks_interval; }, interval(0, kDay)),
  };
}

std::vector<ConfigKey> log_keys() {
  return {
      key(
          "log.level", kReload, [](auto& c) -> auto& { return c.log_level; }, level()),
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> keys = server_keys();
  for (std::vector<ConfigKey> more : {cache_keys(), node_keys(), launch_keys(), log_keys()})
    keys.insert(keys.end(), more.begin(), more.end());
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
  const auto found = std::ranges::find(keys, name, [](const ConfigKey& key) { return std::string_view(key.name); });
  return found == keys.end() ? nullptr : &*found;
}

Problem unknown_section(const std::string& name) {
  std::vector<std::string_view> sections;
  for (const ConfigKey& key : config_keys()) sections.push_back(key.section());
  if (std::ranges::find(sections, name) != sections.end()) return {};
  return "unknown section [" + name + "]; did you mean [" + std::string(closest(name, sections)) + "]?";
}

Problem unknown_key(const std::string& section, const std::string& key) {
  std::vector<std::string_view> names;
  for (const ConfigKey& known : config_keys()) {
    if (known.section() == section) names.emplace_back(known.name);
  }
  const std::string name = section + "." + key;
  return "unknown key " + name + "; did you mean " + std::string(closest(name, names)) + "?";
}

}  // namespace nrd::daemon
