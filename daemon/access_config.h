// The sections [[server.sockets]] and [access] of the configuration.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/origin.h"

namespace nrd::auth {
enum class Permission;
}

namespace nrd::daemon {

// A Unix socket and its users: names, groups as "@name". Root is always administrator. A socket in a file that names no
// users is for root only; the default below applies if no socket is configured.
struct LocalSocket {
  std::string path = "/run/nrd/nrd.sock";
  std::string name;  // FileDescriptorName= of the systemd socket unit; empty: matched by path
  std::vector<std::string> admin = {"root", "@nrd"};
  std::vector<std::string> user;
  std::vector<std::string> run;
  std::string origin = kOriginRest;  // of workloads that its clients create, and may change
  // Also for root; nullopt: all that the role permits.
  std::optional<std::set<auth::Permission>> allow{};
  friend bool operator==(const LocalSocket&, const LocalSocket&) = default;
};

struct AccessConfig {
  bool pam = false;  // accept passwords from clients without a certificate
  std::string pam_service = "nrd";
  std::string acl;                 // access list for PAM users; empty: roles decide
  std::string admin_certificates;  // directories; if one is set, only certificates in it are accepted
  std::string user_certificates;
  friend bool operator==(const AccessConfig&, const AccessConfig&) = default;
};

}  // namespace nrd::daemon
