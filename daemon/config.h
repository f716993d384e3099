// The configuration file and what it may say. toml++ has its home in config.cc.
//
// Every key has a default, so an empty file is valid. Unknown keys, wrong types and values out of range are errors with
// file and line. docs/configuration.md and etc/nrd.toml name every key; a test compares them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/http/tls.h"
#include "base/log.h"
#include "base/result.h"
#include "daemon/onload/parameters.h"
#include "daemon/policy_file.h"
#include "engine/model/foreign_groups.h"
#include "engine/model/pools.h"
#include "engine/model/reserved_cpus.h"
#include "engine/onload/controller.h"
#include "hw/rdt/mount.h"

namespace nrd::daemon {

// A Unix socket and whom it is for: users by name, groups as "@name". Root is administrator on each. In a file a socket
// that names nobody is root's alone; the one below is what there is without any.
struct LocalSocket {
  std::string path = "/run/nrd/nrd.sock";
  std::string name;  // FileDescriptorName= of the systemd socket unit that holds it; empty: its path says
  std::vector<std::string> admin = {"root", "@nrd"};
  std::vector<std::string> user;
  std::vector<std::string> run;
  friend bool operator==(const LocalSocket&, const LocalSocket&) = default;
};

struct Config {
  struct Server {
    bool debug = false;  // plain HTTP without authentication, on loopback only
    uint16_t debug_port = 8081;
    std::string address = "127.0.0.1";
    uint16_t tls_port = 8443;
    std::vector<LocalSocket> sockets = std::vector<LocalSocket>(1);
    friend bool operator==(const Server&, const Server&) = default;
  } server;
  std::optional<http::TlsFiles> tls;  // HTTPS is served if it is there
  std::vector<std::string> admins = {"OU=Admin"};
  std::vector<std::string> users = {"OU=User", "CN=Eli"};
  std::vector<std::string> pam_admins;
  std::vector<std::string> pam_users;
  struct Access {
    bool pam = false;  // passwords, from clients without a certificate
    std::string pam_service = "nrd";
    std::string acl;                 // what users of PAM may do; empty: what their role says
    std::string admin_certificates;  // folders; if there is one, only certificates in them count
    std::string user_certificates;
    friend bool operator==(const Access&, const Access&) = default;
  } access;
  std::string state_directory = "/var/lib/nrd";
  rdt::MountOptions mount;  // rdt.mba_mode; may_remount is --force-config
  PoolSizes pools;
  bool shrink = false;
  std::optional<unsigned> max_shared;
  ForeignGroups foreign_groups = ForeignGroups::Report;
  unsigned reserved_classes = 0;
  ReservedCpus groups;
  std::vector<std::string> infra_users{"root"};  // groups.infra_users by name
  PolicyFiles policy;
  std::chrono::seconds drift_interval{30};  // 0: never look
  std::chrono::seconds usage_interval{1};   // of samples of what workloads use, while somebody asks; 0: never
  std::chrono::seconds tasks_interval{30};  // 0: never look for tasks that have ended
  struct Onload {
    std::string versions = "/opt/nrd/onload";
    std::string imports = "/opt/nrd/import";
    onload::UsersPolicy users_policy = onload::UsersPolicy::Wait;  // the most forceful that a client may ask for
    std::chrono::seconds look_interval{10};
    onload::AtStart at_start = onload::AtStart::Apply;
    std::string device_user = "root";
    std::string device_group = "root";
    mode_t device_mode = 0666;
    bool protect_default_route = true;
    std::vector<std::string> profiles = {"/etc/nrd/onload/profiles"};
    size_t max_allocations = 100;
    std::vector<AllowedParameter> parameters;
    friend bool operator==(const Onload&, const Onload&) = default;
  } onload;
  log::Priority log_level = log::Priority::Info;
  friend bool operator==(const Config&, const Config&) = default;
};

// Parses text; `name` stands in error messages ("/etc/nrd/nrd.toml:3: ...").
Result<Config> parse_config(const std::string& text, const std::string& name);

// Reads and parses a file. A missing file is an error.
Result<Config> load_config(const std::string& path);

// "info", "debug", …; nullopt for another word.
std::optional<log::Priority> level_of(const std::string& word);

// Rules that flags can break as well: the debug port is for loopback only, and paths are absolute.
Result<void> check(const Config& config);

}  // namespace nrd::daemon
