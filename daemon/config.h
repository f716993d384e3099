// The configuration: one value with a default for each key of config_keys.h.
//
// An empty file is valid. Unknown keys, wrong types and values out of range are errors with file and line.
// docs/configuration.md and etc/nrd.toml list every key; a test compares them. config_files.h reads the files.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/http/tls.h"
#include "base/log.h"
#include "base/result.h"
#include "daemon/access_config.h"
#include "daemon/launch.h"
#include "engine/model/cpu_quotas.h"
#include "engine/model/node_config.h"
#include "engine/model/reserves.h"
#include "hw/rdt/mount.h"

namespace nrd::daemon {

inline constexpr size_t kLongestSocketPath = 107;  // bytes: sun_path of sockaddr_un, without the NUL

struct PolicyFiles {
  std::string policies;  // empty: /etc/nrd/policy.toml if it exists
  std::string cpu_map;   // empty: /etc/nrd/cpu_map.toml if it exists
  friend bool operator==(const PolicyFiles&, const PolicyFiles&) = default;
};

struct Config {
  struct Server {
    bool debug = false;  // serve plain HTTP without authentication, on loopback only
    uint16_t debug_port = 8081;
    std::string address = "127.0.0.1";
    uint16_t tls_port = 8443;
    std::vector<LocalSocket> sockets = std::vector<LocalSocket>(1);
    friend bool operator==(const Server&, const Server&) = default;
  } server;
  std::optional<http::TlsFiles> tls;  // nullopt: HTTPS is off
  std::vector<std::string> admins = {"OU=Admin"};
  std::vector<std::string> users = {"OU=User", "CN=Eli"};
  std::vector<std::string> pam_admins;
  std::vector<std::string> pam_users;
  AccessConfig access;
  std::string state_directory = "/var/lib/nrd";
  rdt::MountOptions mount;  // rdt.mba_mode; may_remount is --force-config
  NodeConfig node{};        // without what resolve_node() makes of the next four members
  std::optional<NamedCpuQuotas> cpu_quotas{};
  std::optional<Reserve> kubernetes_reserve{};
  std::vector<std::string> infra_users{"root"};
  PolicyFiles policy;
  std::string workloads_directory = "/etc/nrd/workloads.d";
  std::chrono::seconds drift_interval{30};  // 0: off
  std::chrono::seconds usage_interval{1};   // between usage samples while clients request them; 0: off
  std::chrono::seconds tasks_interval{30};  // between checks for exited tasks; 0: off
  LaunchConfig launch;
  log::Priority log_level = log::Priority::Info;
  friend bool operator==(const Config&, const Config&) = default;
};

// What a reload reads again. Flags override the files.
struct ConfigSource {
  std::string file = "/etc/nrd/nrd.toml";
  bool is_required = false;  // false: the file may be absent, because every key has a default
  bool debug = false;
  bool force_config = false;
  std::optional<uint16_t> debug_port{}, tls_port{};
  std::optional<std::string> address{}, unix_socket{}, state_directory{}, log_level{};
};

// Where the value of a key comes from.
struct Origin {
  enum class Source { Default, File, CommandLine };
  Source source = Source::Default;
  std::string file;  // of Source::File
  size_t line = 0;
  std::vector<size_t> items{};  // lines of the tables of a list
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct LoadedConfig {
  Config config;
  std::vector<std::string> files;         // that were read, in order
  std::map<std::string, Origin> origins;  // by key ("server.debug"); a key that is absent has its default
};

Reserves reserves_of(const Config& config);

// Reads text on top of `loaded`: its keys replace those of earlier files. `name` is used in error messages
// ("/etc/nrd/nrd.toml:3: ...").
Result<void> parse_onto(LoadedConfig& loaded, const std::string& text, const std::string& name);

// Checks rules that concern several keys and that flags can violate as well: the debug port requires loopback, and
// paths must be absolute. Error::field is the key.
Result<void> check(const Config& config);

// The same; the message begins with the file and line of the key.
Result<void> check(const LoadedConfig& loaded);

// Adds file and line to an error of a key or section (Error::field), if a file sets it or another key of the section.
// The field "cpu.pools/1" is the second table of the list.
Error with_position(const LoadedConfig& loaded, Error error);

}  // namespace nrd::daemon
