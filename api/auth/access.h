// Who a client is, and what he may do. Nobody is anybody without a reason that the transport vouches for:
//
//   Unix socket        the kernel says who connected: root and members of the group are administrators
//   TLS                the subject of a client certificate that our authority has signed; its role is in `Rules`
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

#include "api/http/message.h"

namespace nrd::auth {

enum class Role {
  User,   // reads
  Admin,  // changes, too
};

struct Identity {
  std::string name;  // "uid 0", "Alice" (the CN), "debug"
  Role role = Role::User;
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct Rules {
  // One part of a subject each, "OU=Admin"; a certificate that fits both is an administrator's.
  std::vector<std::string> admin = {"OU=Admin"};
  std::vector<std::string> user = {"OU=User", "CN=Eli"};
  // Administrators on the Unix socket, besides root; nullopt: root alone.
  std::optional<gid_t> group{};
};

struct Stranger {
  enum class Kind {
    Unknown,    // has shown nothing, or nothing that names a role here: another certificate may do
    Unwelcome,  // is known for sure, and is not among those who may
  };
  Kind kind = Kind::Unknown;
  std::string name;    // as far as known, for the journal: "uid 1000", "OU=Guests, CN=Mallory"
  std::string reason;  // for the client
  friend bool operator==(const Stranger&, const Stranger&) = default;
};

// A certificate that was good when the connection began counts until its end only.
tl::expected<Identity, Stranger> identify(const Rules& rules, const http::Peer& peer,
                                          std::chrono::system_clock::time_point now);

// Whether a method only reads (RFC 9110, section 9.2.1: safe methods).
bool is_reading(std::string_view method);

bool may(Role role, std::string_view method);

}  // namespace nrd::auth
