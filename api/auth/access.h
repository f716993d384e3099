// Authentication and access rules. A client has an identity only if the transport or PAM proves it:
//
//   Unix socket        the kernel reports the user: root is administrator, others have the roles of the socket's lists
//   TLS, certificate   one signed by the client CA. Its role follows from its subject, or, if certificates are
//                      listed, only from the folder that contains it
//   TLS, without one   user and password, checked by PAM (pam_client.h), if enabled
//   plain HTTP         every client is administrator; for debugging, on loopback, off by default
//
// Thread-safe: pure functions.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "api/auth/certificate_list.h"
#include "api/http/message.h"
#include "api/rmd/acl.h"
#include "base/json/fields.h"
#include "base/origin.h"

namespace nrd::auth {

enum class Role {
  None,   // known, without permissions
  User,   // may read
  Admin,  // may read and change
};

// The decision on a request.
enum class Grant {
  No,
  Own,  // allowed for workloads and allocations of the calling process only
  Whole,
};

// The permission that a route requires.
enum class Access {
  ByMethod,   // safe methods: the user role; others: the admin role
  Reading,    // a POST that changes nothing: the user role
  Own,        // as ByMethod; also the run role, for workloads and allocations of the calling process
  Admin,      // also for safe methods: the admin role
  EveryRole,  // a safe method: every role, whatever an access list says of paths
  Launch,     // as ByMethod; also the run role, which needs it to start an application
};

// What a socket's `allow` can list; a socket without it allows all that the role does. A route with None is on no list.
enum class Permission {
  None,
  Workloads,
  Node,  // reads of the node and of its resources
  OnloadRead,
  OnloadAllocations,  // also workloads with Onload
};
using Permissions = std::set<Permission>;

// Both apply.
struct Needs {
  Access access = Access::ByMethod;
  Permission permission = Permission::None;
};

// How the client was authenticated.
enum class AuthMethod { Debug, Socket, Subject, ListedCertificate, Password };

struct Identity {
  std::string name;  // "uid 0", "Alice" (the CN, or PAM's user), "debug"
  Role role = Role::User;
  AuthMethod auth_method = AuthMethod::Subject;
  bool runs = false;  // may manage workloads and allocations of the calling process, in addition to the role
  std::string origin = kOriginRest;      // of the workloads that it creates and changes
  std::optional<Permissions> allowed{};  // limits the role
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct Listed {
  CertificateList admin;
  CertificateList user;
  friend bool operator==(const Listed&, const Listed&) = default;
};

// Users and groups of this node.
struct Locals {
  std::vector<uid_t> users{};
  std::vector<gid_t> groups{};
  friend bool operator==(const Locals&, const Locals&) = default;
};

// Access lists of a Unix socket, in addition to root. A user in several lists has the permissions of all.
struct SocketRules {
  Locals admin{};
  Locals user{};
  Locals run{};
  std::string origin = kOriginRest;    // as in Identity, as is the next
  std::optional<Permissions> allow{};  // also of root
};

struct Rules {
  // One subject attribute each, "OU=Admin"; admin wins if a certificate matches both.
  std::vector<std::string> admin = {"OU=Admin"};
  std::vector<std::string> user = {"OU=User", "CN=Eli"};
  std::vector<SocketRules> sockets{};  // by Peer::socket; a socket without rules is for root only
  // Replaces the subjects above; admin wins if both lists have the certificate.
  std::optional<Listed> listed{};
  // Whether clients without a certificate log in with PAM, and their permissions: the access list or, without one,
  // their role.
  bool asks_pam = false;
  std::string pam_service = "nrd";
  std::vector<std::string> pam_admin{};
  std::vector<std::string> pam_user{};
  std::optional<rmd::Acl> acl{};
};

struct AuthFailure {
  enum class Kind {
    Unknown,        // no certificate, or one that is expired or untrusted
    Unlisted,       // the certificate is not listed
    Roleless,       // the certificate's subject has no role
    NeedsPassword,  // requires a login with PAM
    Forbidden,      // authenticated, but not permitted
  };
  Kind kind = Kind::Unknown;
  std::string name;    // for the journal, if known: "uid 1000", "OU=Guests, CN=Mallory"
  std::string reason;  // sent to the client
  friend bool operator==(const AuthFailure&, const AuthFailure&) = default;
};

// Checks expiry and the certificate list for each request, not only when the connection is established.
tl::expected<Identity, AuthFailure> identify(const Rules& rules, const http::Peer& peer, std::chrono::sys_seconds now);

// True if the PAM user has any permission. Do not ask PAM about other users: the result would reveal whether a password
// of the node is correct.
bool has_role(const Rules& rules, const std::string& user);

// The identity of a user authenticated by PAM.
Identity identify_by_password(const Rules& rules, const std::string& user);

// True for safe methods (RFC 9110, section 9.2.1).
bool is_reading(std::string_view method);

// True if the request changes nothing: the user role may make it, and the audit log omits it.
bool only_reads(std::string_view method, Access access);

// "workloads", "node", ... and "...", each in quotes.
std::string all_permissions();
bool is_allowed(const Identity& who, Permission permission);

// `needs`: what the route of the request requires.
Grant granted(const Rules& rules, const Identity& who, std::string_view method, std::string_view path, Needs needs);

}  // namespace nrd::auth

template <>
inline constexpr auto nrd::json::kNames<nrd::auth::Permission> =
    std::array{std::pair{nrd::auth::Permission::Workloads, "workloads"}, std::pair{nrd::auth::Permission::Node, "node"},
               std::pair{nrd::auth::Permission::OnloadRead, "onload.read"},
               std::pair{nrd::auth::Permission::OnloadAllocations, "onload.allocations"}};
