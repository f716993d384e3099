// Who a client is, and what he may do. Nobody is anybody without a reason that the transport or PAM vouches for:
//
//   Unix socket        the kernel says who connected: root is administrator, others are what the socket's lists say
//   TLS, certificate   one that our authority has signed. Its role follows from its subject, or, where certificates are
//                      listed, from the folder it lies in, and then from nothing else
//   TLS, without one   a user and his password, which PAM is asked about (pam_client.h), where that is switched on
//   plain HTTP         everybody is administrator; it is for debugging, on loopback, and must be asked for
//
// Any thread; nothing here keeps state.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "api/auth/acl.h"
#include "api/auth/certificate_list.h"
#include "api/http/message.h"

namespace nrd::auth {

enum class Role {
  None,   // is known, and may do nothing
  User,   // reads
  Admin,  // changes, too
};

// What may become of a request.
enum class Grant {
  No,
  Own,  // it is served as far as it is about the process that asks, and what belongs to that
  Whole,
};

// How a client was known.
enum class AuthMethod { Debug, Socket, Subject, ListedCertificate, Password };

struct Identity {
  std::string name;  // "uid 0", "Alice" (the CN, or PAM's user), "debug"
  Role role = Role::User;
  AuthMethod method = AuthMethod::Subject;
  bool runs = false;  // may have workloads for the process that asks, whatever the role says
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

// Whom a Unix socket is for besides root. Who is in several lists may do what each says.
struct SocketRules {
  Locals admin{};
  Locals user{};
  Locals run{};
};

struct Rules {
  // One part of a subject each, "OU=Admin"; a certificate that fits both is an administrator's.
  std::vector<std::string> admin = {"OU=Admin"};
  std::vector<std::string> user = {"OU=User", "CN=Eli"};
  std::vector<SocketRules> sockets{};  // by Peer::socket; one without rules is root's alone
  // Instead of the subjects above; the same certificate in both is an administrator's.
  std::optional<Listed> listed{};
  // Whether PAM is asked about who has no certificate, and what its users may do: what the list says or, without one,
  // what their role allows.
  bool asks_pam = false;
  std::vector<std::string> pam_admin{};
  std::vector<std::string> pam_user{};
  std::optional<Acl> acl{};
};

struct AuthFailure {
  enum class Kind {
    Unknown,        // has shown nothing, or what counts no more: another certificate may do
    Unlisted,       // has shown a certificate that is not among the listed ones
    Roleless,       // has shown a certificate whose subject has no role
    NeedsPassword,  // PAM is to be asked
    Unwelcome,      // is known for sure, and is not among those who may
  };
  Kind kind = Kind::Unknown;
  std::string name;    // as far as known, for the journal: "uid 1000", "OU=Guests, CN=Mallory"
  std::string reason;  // for the client
  friend bool operator==(const AuthFailure&, const AuthFailure&) = default;
};

// A certificate that was good when the connection began counts until its end, or its removal from the list, only.
tl::expected<Identity, AuthFailure> identify(const Rules& rules, const http::Peer& peer,
                                             std::chrono::system_clock::time_point now);

// Whether there is anything that a user of PAM may do. PAM is asked about nobody else: its answer would tell strangers
// whether a password of the node is right.
bool has_role(const Rules& rules, const std::string& user);

// Whom PAM has let in.
Identity identify_by_password(const Rules& rules, const std::string& user);

// Whether a method only reads (RFC 9110, section 9.2.1: safe methods).
bool is_reading(std::string_view method);

// `only_reads`: the request changes nothing, whatever its method says.
Grant granted(const Rules& rules, const Identity& who, std::string_view method, std::string_view path, bool only_reads);

}  // namespace nrd::auth
